// Comparison of evaluations to the last bit.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "core/sha256.h"
#include "eval/coco/summary.h"

namespace ttt::test {

inline std::string sha256(const std::vector<double>& v) {
  Sha256 hash;
  hash.update({reinterpret_cast<const char*>(v.data()), v.size() * sizeof(double)});
  return hash.hex();
}

inline std::array<std::uint64_t, 12> bits(const eval::coco::Stats& stats) {
  return std::bit_cast<std::array<std::uint64_t, 12>>(stats);
}

}  // namespace ttt::test
