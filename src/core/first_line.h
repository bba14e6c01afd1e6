// Errors of other libraries, which continue with a trace of the stack: torch's.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

namespace ttt {

// What a message and a result keep of the error. TTT_WHOLE_ERRORS (scripts/gpu_check sets it) prints all of it, which
// says where it arose.
inline std::string first_line(const std::string& what) {
  if (const char* whole = std::getenv("TTT_WHOLE_ERRORS"); whole && *whole && what.find('\n') != std::string::npos)
    std::fprintf(stderr, "The whole error: %s\n", what.c_str());
  return what.substr(0, what.find('\n'));
}

}  // namespace ttt
