// Errors of other libraries, which continue with a trace of the stack: torch's.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

namespace ttt {

// The first line, for a message and a result. Where TTT_WHOLE_ERRORS is set (scripts/gpu_check) it prints all of the
// error too, which says where it arose.
inline std::string shortened(const std::string& what) {
  if (const char* whole = std::getenv("TTT_WHOLE_ERRORS"); whole && *whole && what.find('\n') != std::string::npos)
    std::fprintf(stderr, "The whole error: %s\n", what.c_str());
  return what.substr(0, what.find('\n'));
}

}  // namespace ttt
