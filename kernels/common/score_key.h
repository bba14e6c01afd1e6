// The order of scores, shared by the kernels and their reference implementations.
#pragma once

#include <cstdint>

#include "core/host_device.h"

namespace ttt::kernels {

// Ascending order of these keys is descending score, then ascending index: the suite's order of ties. NaN must be
// dropped before. -0 and +0 are equal scores.
TTT_HD inline std::uint64_t score_key(float score, std::uint32_t index) {
  const std::uint32_t bits = __builtin_bit_cast(std::uint32_t, score + 0.0f);
  const std::uint32_t ascending = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
  return static_cast<std::uint64_t>(~ascending) << 32 | index;
}
TTT_HD inline std::uint32_t key_index(std::uint64_t key) { return static_cast<std::uint32_t>(key); }
TTT_HD inline float key_score(std::uint64_t key) {
  const std::uint32_t ascending = ~static_cast<std::uint32_t>(key >> 32);
  return __builtin_bit_cast(float, ascending & 0x80000000u ? ascending & 0x7FFFFFFFu : ~ascending);
}

}  // namespace ttt::kernels
