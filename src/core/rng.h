// Counter-based random numbers: a pure function of (seed, purpose, counters), so that a draw does not depend on
// workers, ranks, replays or the order of calls.
#pragma once

#include <cstdint>

#include "core/host_device.h"

namespace ttt {

// Who draws: keeps streams of one seed apart.
enum class Purpose : std::uint64_t {
  kOrder = 1,
  kFlip = 2,
  kRpnSample = 3,
  kRoiSample = 4,
  kInit = 5,
  kShapes = 6,
  kTest = 7,
  kPermutation = 8,
  kRounding = 9
};

// splitmix64's finaliser (Steele, Lea, Flood 2014): a bijection of 64 bits with full avalanche.
TTT_HD constexpr std::uint64_t mix64(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

TTT_HD constexpr std::uint64_t random_bits(
    std::uint64_t seed, Purpose purpose, std::uint64_t a, std::uint64_t b = 0, std::uint64_t c = 0) {
  std::uint64_t h = mix64(seed ^ mix64(static_cast<std::uint64_t>(purpose)));
  h = mix64(h ^ a);
  h = mix64(h ^ b);
  return mix64(h ^ c);
}

// In [0, 1), 24 bits: every value is exact in float.
constexpr float unit_float(std::uint64_t bits) { return static_cast<float>(bits >> 40) * 0x1p-24f; }
// In [0, 1), 53 bits.
constexpr double unit_double(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

// A sequence of draws where a loop needs many: draw i of stream `key`.
class Stream {
 public:
  constexpr explicit Stream(std::uint64_t key) : key_(key) {}
  constexpr std::uint64_t bits() { return mix64(key_ ^ mix64(next_++)); }
  constexpr double uniform() { return unit_double(bits()); }
  constexpr double uniform(double lo, double hi) { return lo + (hi - lo) * uniform(); }
  // In [0, n); the bias of the modulo is below n / 2^64.
  constexpr std::uint64_t below(std::uint64_t n) { return bits() % n; }

 private:
  std::uint64_t key_, next_ = 0;
};

}  // namespace ttt
