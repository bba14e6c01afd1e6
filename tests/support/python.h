// Runs a script of this folder's neighbours in the Python environment that scripts/setup makes: the outside oracle.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace ttt::test {

// The interpreter, or "" where the environment is missing.
inline std::string python() {
  const char* cache = std::getenv("TTT_CACHE");
  const char* home = std::getenv("HOME");
  const std::string folder = cache ? cache : std::string(home ? home : "") + "/.cache/ttt";
  const std::string interpreter = folder + "/venv/bin/python";
  return std::filesystem::exists(interpreter) ? interpreter : "";
}

struct CommandResult {
  int status = -1;  // as a shell reports it
  std::string output;
};

// Runs a shell command line; standard output is returned, standard error too where the command says so.
inline CommandResult run_command(const std::string& command) {
  CommandResult result;
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (!pipe) return result;
  char buffer[4096];
  for (std::size_t n; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) result.output.append(buffer, n);
  const int status = ::pclose(pipe);
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

inline void write_text(const std::filesystem::path& file, const std::string& text) {
  std::ofstream(file, std::ios::binary) << text;
}

inline std::string read_text(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace ttt::test

// Ends a test with a printed reason where the oracle is not there.
#define TTT_NEED_PYTHON(modules)                                                                        \
  if (ttt::test::python().empty()) GTEST_SKIP() << "no Python environment: run scripts/setup";          \
  if (ttt::test::run_command(ttt::test::python() + " -c 'import " modules "' 2>/dev/null").status != 0) \
  GTEST_SKIP() << "the Python environment lacks " modules ": run scripts/setup"
