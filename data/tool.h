// The life of a data tool: flags, one catch of all errors, an exit code.
#pragma once

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <exception>

#include "core/error.h"

namespace ttt {

// `run` does the work once the flags are parsed. Exit codes: 0, CLI11's for wrong flags, core/error.h's.
template <class Run>
int run_tool(CLI::App& app, int argc, char** argv, Run&& run) {
  // A file-size limit is then an error of write(), with a message and a cleaned folder, instead of a signal.
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    app.parse(argc, argv);
    run();
    return 0;
  } catch (const CLI::ParseError& e) {
    return app.exit(e);
  } catch (const Error& e) {
    std::fprintf(stderr, "%s: %s\n", app.get_name().c_str(), e.what());
    return e.exit_code();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s: %s\n", app.get_name().c_str(), e.what());
    return 1;
  }
}

}  // namespace ttt
