#include "core/hash.h"

#include <array>
#include <bit>
#include <cstring>

#include "core/rng.h"

namespace ttt {
namespace {

constexpr std::size_t kLanes = 8;  // chains of multiplications that do not wait for each other

// The rotation brings the top bits down: without it two flipped sign bits would cancel, since 2^63 times any odd number
// is 2^63.
constexpr std::uint64_t absorb(std::uint64_t state, std::uint64_t word) {
  return std::rotl((state ^ word) * 0x9E3779B97F4A7C15ull, 29);
}

}  // namespace

std::uint64_t hash64(std::span<const std::byte> bytes) {
  std::array<std::uint64_t, kLanes> lanes, words;
  for (std::size_t i = 0; i < kLanes; ++i) lanes[i] = mix64(i);
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= sizeof words; at += sizeof words, left -= sizeof words) {
    std::memcpy(words.data(), at, sizeof words);
    for (std::size_t i = 0; i < kLanes; ++i) lanes[i] = absorb(lanes[i], words[i]);
  }
  words = {};
  if (left > 0) std::memcpy(words.data(), at, left);
  for (std::size_t i = 0; i < kLanes; ++i) lanes[i] = absorb(lanes[i], words[i]);
  std::uint64_t hash = mix64(bytes.size());
  for (const std::uint64_t lane : lanes) hash = mix64(hash ^ lane);
  return hash;
}

}  // namespace ttt
