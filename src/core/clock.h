// Wall time.
#pragma once

#include <chrono>
#include <cstdint>

namespace ttt {

// Seconds since an arbitrary, fixed moment (CLOCK_MONOTONIC). Never compare values of two nodes.
inline double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Seconds since 1970 by the calendar's clock: all that processes which do not live at the same time have in common. It
// may be set back.
inline double unix_s() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}
// Milliseconds since the Unix epoch (CLOCK_REALTIME): for logs that people and other programs compare; durations are
// now_s()'s.
inline std::int64_t unix_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace ttt
