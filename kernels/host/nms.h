// Greedy NMS and the order of scores, shared by proposals and detections.
#pragma once

#include <bit>
#include <cstdint>

#include "kernels/host/nms_loops.h"

namespace ttt::kernels::host {

// Ascending order of these keys is descending score, then ascending index: the suite's order of ties. NaN must be
// dropped before. -0 and +0 are equal scores.
inline std::uint64_t score_key(float score, std::uint32_t index) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(score + 0.0f);
  const std::uint32_t ascending = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
  return static_cast<std::uint64_t>(~ascending) << 32 | index;
}
inline std::uint32_t key_index(std::uint64_t key) { return static_cast<std::uint32_t>(key); }
inline float key_score(std::uint64_t key) {
  const std::uint32_t ascending = ~static_cast<std::uint32_t>(key >> 32);
  return std::bit_cast<float>(ascending & 0x80000000u ? ascending & 0x7FFFFFFFu : ~ascending);
}

// boxes: [n, 4] in descending order of score. Stops after `most` kept. Returns how many; keep[i] is an index into
// boxes.
std::int64_t greedy_nms(std::int64_t n, const float* boxes, const Suppression& s, std::int64_t most, KeptBoxes& kept,
                        std::int32_t* keep);

}  // namespace ttt::kernels::host
