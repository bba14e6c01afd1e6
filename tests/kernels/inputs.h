// Random inputs of the kernel tests.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "core/rng.h"

namespace ttt::kernels {

inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
inline constexpr float kInf = std::numeric_limits<float>::infinity();

inline Stream stream(std::uint64_t which) { return Stream(random_bits(1, Purpose::kTest, which)); }

inline std::vector<float> uniform(Stream& s, std::int64_t n, double lo, double hi) {
  std::vector<float> v(n);
  for (float& x : v) x = static_cast<float>(s.uniform(lo, hi));
  return v;
}

inline std::vector<float> boxes_in(Stream& s, std::int64_t n, double height, double width, double smallest = 1) {
  std::vector<float> b;
  for (std::int64_t i = 0; i < n; ++i) {
    const double x = s.uniform(0, width - smallest), y = s.uniform(0, height - smallest);
    b.insert(
        b.end(), {float(x), float(y), float(s.uniform(x + smallest, width)), float(s.uniform(y + smallest, height))});
  }
  return b;
}

}  // namespace ttt::kernels
