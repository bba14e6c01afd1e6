#include "core/hash.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "core/rng.h"

namespace ttt {
namespace {

std::vector<std::byte> random_bytes(std::size_t n, std::uint64_t seed) {
  Stream draw(random_bits(seed, Purpose::kTest, n));
  std::vector<std::byte> bytes(n);
  for (std::byte& b : bytes) b = static_cast<std::byte>(draw.bits());
  return bytes;
}

// Every bit of arrays of every length around the block of 64 bytes.
TEST(Hash64, OneFlippedBitAnywhereChangesIt) {
  for (std::size_t n = 1; n <= 200; ++n) {
    std::vector<std::byte> bytes = random_bytes(n, 1);
    const std::uint64_t whole = hash64(bytes);
    for (std::size_t bit = 0; bit < 8 * n; ++bit) {
      const auto mask = static_cast<std::byte>(1u << (bit % 8));
      bytes[bit / 8] ^= mask;
      ASSERT_NE(hash64(bytes), whole) << n << " bytes, bit " << bit;
      bytes[bit / 8] ^= mask;
    }
    ASSERT_EQ(hash64(bytes), whole);
  }
}

// What a plain multiply-and-xor would miss: sign bits flipped in pairs, words exchanged, zeros of another number.
TEST(Hash64, ChangesThatCouldCancelDoNot) {
  std::vector<float> values(1000, 0.25f);
  const auto hash = [&] { return hash64(std::as_bytes(std::span(values))); };
  std::set<std::uint64_t> seen = {hash()};
  for (const std::size_t second : {17u, 33u, 49u, 65u, 999u}) {  // the same lane and others, the upper half of a word
    values[1] = values[second] = -0.25f;
    EXPECT_TRUE(seen.insert(hash()).second) << second;
    values[1] = values[second] = 0.25f;
  }
  values[2] = 1, values[3] = 2;
  EXPECT_TRUE(seen.insert(hash()).second);
  values[2] = 0.25f, values[3] = 0.25f, values[18] = 1, values[19] = 2;  // one block later
  EXPECT_TRUE(seen.insert(hash()).second);
  const std::vector<float> zeros(32);
  for (const std::size_t n : {0u, 1u, 15u, 16u, 17u, 32u})
    EXPECT_TRUE(seen.insert(hash64(std::as_bytes(std::span(zeros).first(n)))).second) << n;
}

TEST(Hash64, DependsOnTheBytesAlone) {
  const std::vector<std::byte> bytes = random_bytes(1001, 2);
  std::vector<std::byte> shifted(1008);
  for (std::size_t offset = 0; offset < 7; ++offset) {
    std::copy(bytes.begin(), bytes.end(), shifted.begin() + static_cast<std::ptrdiff_t>(offset));
    EXPECT_EQ(hash64(std::span(shifted).subspan(offset, bytes.size())), hash64(bytes));
  }
}

// Bits of the hash as often set as not, whatever bit of the array was flipped: 20000 trials, six standard deviations.
TEST(Hash64, EveryBitOfTheHashFollows) {
  std::vector<std::byte> bytes = random_bytes(160, 3);
  const std::uint64_t whole = hash64(bytes);
  Stream draw(random_bits(4, Purpose::kTest, 0));
  std::vector<int> changed(64);
  for (int trial = 0; trial < 20000; ++trial) {
    const std::size_t bit = draw.below(8 * bytes.size());
    const auto mask = static_cast<std::byte>(1u << (bit % 8));
    bytes[bit / 8] ^= mask;
    const std::uint64_t difference = hash64(bytes) ^ whole;
    for (std::size_t b = 0; b < 64; ++b) changed[b] += static_cast<int>(difference >> b & 1);
    bytes[bit / 8] ^= mask;
  }
  // Only 1280 distinct flips: the deviation is that of so many draws.
  for (const int n : changed) EXPECT_NEAR(n, 10000, 6 * 0.5 * 20000 / 35.8);
}

}  // namespace
}  // namespace ttt
