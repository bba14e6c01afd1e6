// One value; host and device share it.
#pragma once

#include "core/host_device.h"
#include "core/rng.h"
#include "kernels/round_bfloat16/round_bfloat16.h"

namespace ttt::kernels {

// `bits`: of the value. `draw`: 16 random bits, which stochastic rounding adds below the last one that stays.
TTT_HD inline std::uint32_t bfloat16_bits(Rounding rounding, std::uint32_t bits, std::uint32_t draw) {
  constexpr std::uint32_t kLow = 0xFFFFu, kExponent = 0x7F800000u;
  if ((bits & kExponent) == kExponent) return bits;
  if (rounding == Rounding::kNearestEven) bits += 0x7FFFu + ((bits >> 16) & 1u);
  if (rounding == Rounding::kStochastic) bits += draw;
  return bits & ~kLow;
}

TTT_HD inline std::uint64_t rounding_key(std::uint64_t key, float update) {
  return mix64(key ^ mix64(static_cast<std::uint64_t>(update)));
}
TTT_HD inline std::uint32_t rounding_draw(std::uint64_t key, std::int64_t i) {
  return static_cast<std::uint32_t>(mix64(key ^ static_cast<std::uint64_t>(i)) >> 48);
}

}  // namespace ttt::kernels
