// The life of a tool without a recipe: flags, one catch of all errors, an exit code.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

namespace ttt {

// A parse error of CLI11 as a sentence with a remedy: the nearest known flag, or where to find help. `positional`: the
// remedy for an unexpected positional argument.
std::string explain_usage(
    const CLI::App& app, const CLI::ParseError& error, const std::string& positional = "--help lists all arguments.");

// Parses the flags, then runs `run`, which returns the exit code. --help and --version print and return 0.
// Errors go to stderr as "<program>: <sentence>"; exit codes are those of core/error.h, 2 for wrong flags.
int run_tool(CLI::App& app, int argc, char** argv, const std::function<int()>& run);

}  // namespace ttt
