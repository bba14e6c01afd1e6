// Wall time of this process. Never compare values of two nodes.
#pragma once

#include <chrono>

namespace ttt {

// Seconds since an arbitrary, fixed moment (CLOCK_MONOTONIC).
inline double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace ttt
