// Errors that a user can act on. Everything else is a bug and may be any std::exception.
//
// A message is one sentence that names the thing and one that names the remedy. run_app() prints it, writes the result
// with its verdict and ends every rank with `exit_code`.
#pragma once

#include <cstdio>
#include <stdexcept>
#include <string>
#include <string_view>

namespace ttt {

// `text` with control characters as escapes, \x0a for a new line: a name or a value from outside keeps a message on one
// line.
inline std::string one_line(std::string_view text) {
  std::string out;
  for (const char c : text) {
    char escape[8] = {c};
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      std::snprintf(escape, sizeof escape, "\\x%02x", static_cast<unsigned>(c));
    out += escape;
  }
  return out;
}

class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message, int exit_code = 1)
      : std::runtime_error(one_line(message)), exit_code_(exit_code) {}
  int exit_code() const { return exit_code_; }

 private:
  int exit_code_;
};

// The request cannot be understood or names something that is not there (exit code 2).
class UsageError : public Error {
 public:
  explicit UsageError(const std::string& message) : Error(message, 2) {}
};

// A file does not hold what it claims to hold (exit code 3).
class DataError : public Error {
 public:
  explicit DataError(const std::string& message) : Error(message, 3) {}
};

// This machine or build cannot do what was asked; nothing else is done in its place (exit code 4).
class NotSupported : public Error {
 public:
  explicit NotSupported(const std::string& message) : Error(message, 4) {}
};

// The numbers went wrong: a loss that is not finite, replicas that differ (exit code 5).
class Incorrect : public Error {
 public:
  explicit Incorrect(const std::string& message) : Error(message, 5) {}
};

// A signal or another rank asked the run to end (exit code 130, as a shell reports SIGINT).
class Interrupted : public Error {
 public:
  explicit Interrupted(const std::string& message) : Error(message, 130) {}
};

}  // namespace ttt
