// The life of a tool without a recipe: flags, one catch of all errors, an exit code.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "app/output.h"

namespace ttt {

// A parse error of CLI11 as a sentence with a remedy: the nearest known flag, or where to find help. `positional`: the
// remedy for an unexpected positional argument.
std::string explain_usage(
    const CLI::App& app, const CLI::ParseError& error, const std::string& positional = "--help lists all arguments.");

// Says the first line, once the input is accepted: "1,600 + 200 images into shapes". What is refused before it prints
// one line on stderr only.
using Start = std::function<void(const std::string& what)>;

// Parses the flags, then runs `run` and prints how it ended. --help and --version print and return 0. Errors go to
// stderr as "<program>: <sentence>"; after the first line the last one is a verdict then too. Exit codes are those of
// core/error.h, 2 for wrong flags.
int run_tool(CLI::App& app, int argc, char** argv, const std::function<harness::Answer(const Start& start)>& run);

}  // namespace ttt
