// Matching and sampling: rules, NaN, threads, the sampler's specification.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "core/parallel.h"
#include "guarded.h"
#include "inputs.h"
#include "kernels/match/match.h"
#include "kernels/sample/sample.h"

namespace ttt::kernels {
namespace {

TEST(Match, SmallBoxes_FollowRules) {
  // IoU of the candidates with gt 0: 1, 0.5, 0.25, 0, and with gt 1: 0, 0, 0, 1/4.
  const float candidates[] = {0, 0, 4, 4, 0, 0, 4, 2, 0, 0, 2, 2, 10, 10, 12, 12}, gt[] = {0, 0, 4, 4, 10, 10, 14, 14};
  const std::int32_t count[] = {2};
  MatchParams p{.images = 1, .candidates = 4, .gt_capacity = 2, .high = 0.7f, .low = 0.3f};
  std::array<std::int32_t, 4> m;
  host::match(p, {gt, count, candidates, nullptr}, m.data());
  EXPECT_EQ(m, (std::array<std::int32_t, 4>{0, -2, -1, -1}));
  p.allow_low_quality = true;
  host::match(p, {gt, count, candidates, nullptr}, m.data());
  EXPECT_EQ(m, (std::array<std::int32_t, 4>{0, -2, -1, 1}));
  const std::uint8_t visible[] = {0, 1, 1, 1};
  host::match(p, {gt, count, candidates, visible}, m.data());
  EXPECT_EQ(m, (std::array<std::int32_t, 4>{-2, -2, -1, 1}));
}

TEST(Match, NanBoxes_MatchNothing) {
  const float candidates[] = {0, 0, 4, 4, kNan, 0, 4, 4, 0, 0, 4, 4}, gt[] = {kNan, 0, 4, 4, 0, 0, 4, 4, 3, 3, 3, 3};
  const std::int32_t count[] = {3};
  MatchParams p{.images = 1, .candidates = 3, .gt_capacity = 3};
  std::array<std::int32_t, 3> m;
  host::match(p, {gt, count, candidates, nullptr}, m.data());
  EXPECT_EQ(m, (std::array<std::int32_t, 3>{1, -1, 1}));
}

TEST(Match, AnyThreads_SameBits) {
  Stream s = stream(9);
  const std::vector<float> candidates = boxes_in(s, 5000, 200, 200, 4), gt = boxes_in(s, 3 * 9, 200, 200, 4);
  const std::int32_t count[] = {9, 0, 4};
  for (const bool legacy : {false, true}) {
    const MatchParams p{.images = 3,
                        .candidates = 5000,
                        .gt_capacity = 9,
                        .shared_candidates = true,
                        .allow_low_quality = true,
                        .legacy = legacy};
    Guarded<std::int32_t> one(15000);
    const MatchIn in{gt.data(), count, candidates.data(), nullptr};
    host::match(p, in, one.get());
    for (int threads = 2; threads <= 3; ++threads) {
      ThreadPool pool(threads);
      Guarded<std::int32_t> many(15000);
      host::match(p, in, many.get(), &pool);
      EXPECT_TRUE(one.same(many));
    }
  }
}

// The header's specification: all keys in a map, the first ones taken.
TEST(Sample, AllShapes_EqualSpecification) {
  Stream s = stream(4);
  for (const auto& [candidates, size, rate] :
       {std::tuple{5000, 256, 0.01}, std::tuple{300, 64, 0.5}, std::tuple{90000, 512, 0.001}}) {
    const SampleParams p{.images = 2, .candidates = candidates, .size = size, .positive_fraction = 0.25f, .purpose = 4};
    const std::int64_t key[] = {5, 77};
    std::vector<std::int32_t> matched;
    for (int i = 0; i < 2 * candidates; ++i) matched.push_back(s.uniform() < rate ? 3 : (s.uniform() < 0.1 ? -2 : -1));
    const std::int64_t ids[] = {42, 581929};
    Guarded<std::int32_t> index(2 * size), positives(2), total(2);
    host::sample(p, {key, matched.data(), ids}, {index.get(), positives.get(), total.get()});
    for (int n = 0; n < 2; ++n) {
      std::map<std::uint64_t, std::int32_t> pools[2];
      for (int c = 0; c < candidates; ++c)
        if (const int m = matched[n * candidates + c]; m >= -1)
          pools[m < 0][random_bits(5, Purpose::kRoiSample, 77, static_cast<std::uint64_t>(ids[n]), c)] = c;
      std::vector<std::int32_t> expected;
      for (int kind = 0; kind < 2; ++kind) {
        const std::size_t begin = expected.size(), want = kind == 0 ? size / 4 : size - begin;
        for (const auto& [bits, c] : pools[kind])
          if (expected.size() - begin < want) expected.push_back(c);
        if (kind == 0) {
          EXPECT_EQ(positives[n], static_cast<std::int32_t>(expected.size()));
        }
        std::sort(expected.begin() + begin, expected.end());
      }
      EXPECT_EQ(total[n], static_cast<std::int32_t>(expected.size()));
      expected.resize(size, 0);
      EXPECT_TRUE(std::equal(expected.begin(), expected.end(), index.get() + n * size));
    }
  }
}

}  // namespace
}  // namespace ttt::kernels
