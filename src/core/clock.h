// Wall time of this process. Never compare values of two nodes.
#pragma once

#include <chrono>
#include <cstdint>

namespace ttt {

// Seconds since an arbitrary, fixed moment (CLOCK_MONOTONIC).
inline double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Milliseconds since the Unix epoch (CLOCK_REALTIME): for logs that people and other programs compare; durations are now_s()'s.
inline std::int64_t unix_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace ttt
