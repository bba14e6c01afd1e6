// CUDA kernels of matching, sampling and box coding against their reference implementations: to the bit.
#include <gtest/gtest.h>

#include <cmath>
#include <tuple>
#include <vector>

#include "core/error.h"
#include "core/rng.h"
#include "kernels/box_coder/box_coder.h"
#include "kernels/match/match.h"
#include "kernels/sample/sample.h"
#include "same_bits.h"
#include "tests/kernels/inputs.h"

namespace ttt::kernels {
namespace {

struct Boxes {
  std::vector<float> gt, candidates;
  std::vector<std::int32_t> count;
  std::vector<std::uint8_t> visible;
};

// Small integer coordinates make many ties; some boxes are NaN, some empty, some equal.
Boxes boxes_for(const MatchParams& p, bool ties) {
  Stream s = stream(800 + static_cast<std::uint64_t>(p.candidates));
  Boxes b;
  const std::int64_t rows = (p.shared_candidates ? 1 : p.images) * p.candidates;
  b.candidates = boxes_in(s, rows, 60, 90, 3), b.gt = boxes_in(s, p.images * p.gt_capacity, 60, 90, 3);
  if (ties)
    for (auto* v : {&b.candidates, &b.gt})
      for (float& x : *v) x = std::round(x / 8) * 8;
  for (std::size_t i = 0; i < b.candidates.size(); i += 97) b.candidates[i] = kNan;
  if (b.gt.size() > 8) b.gt[5] = kNan;
  for (std::int64_t n = 0; n < p.images; ++n)
    b.count.push_back(static_cast<std::int32_t>(n == 1 ? 0 : p.gt_capacity - n % 3));
  for (std::int64_t i = 0; i < p.images * p.candidates; ++i) b.visible.push_back(s.below(5) != 0);
  return b;
}

void expect_match(const MatchParams& p, const Boxes& b, bool hide) {
  std::vector<std::int32_t> want(p.images * p.candidates);
  host::match(p, {b.gt.data(), b.count.data(), b.candidates.data(), hide ? b.visible.data() : nullptr}, want.data());
  under_all_schedules([&] {
    auto gt = input(b.gt, "gt"), candidates = input(b.candidates, "candidates"),
         workspace = scratch(cuda::match_workspace(p));
    auto count = input(b.count, "gt_count");
    auto visible = input(b.visible, "visible");
    auto matched = output<std::int32_t>(std::ssize(want), "matched");
    cuda::match(p, {gt.get(), count.get(), candidates.get(), hide ? visible.get() : nullptr}, matched.get(),
        workspace.get(), nullptr);
    expect_same_bits(want, matched, "matched");
  });
}

TEST(Match, AllRules_SameBits) {
  for (const std::int64_t candidates : {0, 1, 255, 257, 700})
    for (const bool ties : {false, true})
      for (const bool low_quality : {false, true})
        for (const bool legacy : {false, true}) {
          SCOPED_TRACE(testing::Message() << candidates << " candidates, ties " << ties << ", low quality "
                                          << low_quality << ", legacy " << legacy);
          const MatchParams p{.images = 3,
              .candidates = candidates,
              .gt_capacity = 5,
              .shared_candidates = legacy,
              .allow_low_quality = low_quality,
              .legacy = legacy};
          expect_match(p, boxes_for(p, ties), ties != legacy);
          if (HasFatalFailure()) return;
        }
}

TEST(Match, ManyGroundTruths_SameBits) {
  const MatchParams p{.images = 2, .candidates = 300, .gt_capacity = 300, .allow_low_quality = true};
  Boxes b = boxes_for(p, true);
  b.count = {300, 129};
  expect_match(p, b, false);
}

TEST(Match, CountBeyondCapacity_Cut) {
  MatchParams p{.images = 1, .candidates = 100, .gt_capacity = 4, .high = 0.5f, .low = 0.5f};
  Boxes b = boxes_for(p, false);
  std::vector<std::int32_t> want(100);
  b.count = {4};
  host::match(p, {b.gt.data(), b.count.data(), b.candidates.data(), nullptr}, want.data());
  auto gt = input(b.gt, "gt"), candidates = input(b.candidates, "candidates");
  auto count = input(std::vector<std::int32_t>{9}, "gt_count");
  auto matched = output<std::int32_t>(100, "matched");
  cuda::match(p, {gt.get(), count.get(), candidates.get(), nullptr}, matched.get(), nullptr, nullptr);
  expect_same_bits(want, matched, "matched");
  p.low = 0.6f;
  EXPECT_THROW(cuda::match(p, {}, nullptr, nullptr, nullptr), UsageError);
}

void expect_sample(const SampleParams& p, const std::vector<std::int64_t>& key,
    const std::vector<std::int32_t>& matched, const std::vector<std::int64_t>& ids) {
  std::vector<std::int32_t> index(p.images * p.size), positives(p.images), total(p.images);
  host::sample(p, {key.data(), matched.data(), ids.data()}, {index.data(), positives.data(), total.data()});
  under_all_schedules([&] {
    auto m = input(matched, "matched");
    auto id = input(ids, "image_id"), k = input(key, "key");
    auto i = output<std::int32_t>(p.images * p.size, "index"), pos = output<std::int32_t>(p.images, "positives"),
         all = output<std::int32_t>(p.images, "total");
    auto workspace = scratch(cuda::sample_workspace(p));
    cuda::sample(p, {k.get(), m.get(), id.get()}, {i.get(), pos.get(), all.get()}, workspace.get(), nullptr);
    expect_same_bits(positives, pos, "positives");
    expect_same_bits(total, all, "total");
    expect_same_bits(index, i, "index");
  });
}

TEST(Sample, AllShapes_SameBits) {
  Stream s = stream(820);
  for (const auto& [candidates, size, rate] :
      {std::tuple{5000, 256, 0.01}, std::tuple{5000, 100, 0.4}, std::tuple{90, 64, 0.5}, std::tuple{40, 64, 0.5},
          std::tuple{0, 8, 0.0}, std::tuple{4097, 0, 0.5}, std::tuple{700, 512, 0.02}}) {
    SCOPED_TRACE(testing::Message() << candidates << " candidates, " << size << " wanted");
    const SampleParams p{.images = 3, .candidates = candidates, .size = size, .positive_fraction = 0.25f, .purpose = 4};
    std::vector<std::int32_t> matched;
    for (int i = 0; i < 3 * candidates; ++i) matched.push_back(s.uniform() < rate ? 3 : (s.uniform() < 0.1 ? -2 : -1));
    for (int i = 0; i < candidates; ++i) matched[2 * candidates + i] = -2;  // an image with nothing to draw
    expect_sample(p, {5, 77}, matched, {42, 581929, 7});
    if (HasFatalFailure()) return;
  }
}

// Candidates are chosen by their keys so that the first bound lets through far too many, or none: the search for
// another bound must end.
TEST(Sample, KeysNotUniform_SameBits) {
  const SampleParams p{.images = 2, .candidates = 12000, .size = 40, .positive_fraction = 0.5f, .purpose = 3};
  const std::vector<std::int64_t> ids{11, 12};
  std::vector<std::int32_t> matched;
  for (int n = 0; n < 2; ++n)
    for (std::uint64_t c = 0; c < 12000; ++c) {
      const std::uint64_t key = random_bits(1, Purpose::kRpnSample, 2, static_cast<std::uint64_t>(ids[n]), c);
      const bool low = key<~0ull / 16, high = key> ~0ull / 16 * 15;
      matched.push_back(low ? (n == 0 ? 1 : -1) : (high ? (n == 0 ? -1 : 1) : -2));
    }
  expect_sample(p, {1, 2}, matched, ids);
}

TEST(BoxCoder, BothConventions_SameBits) {
  Stream s = stream(830);
  for (const std::int64_t n : {0, 1, 255, 257})
    for (const bool legacy : {false, true}) {
      const BoxCoderParams p{.wx = 10, .wy = 10, .ww = 5, .wh = 5, .legacy = legacy};
      std::vector<float> boxes = boxes_in(s, n, 300, 400), reference = boxes_in(s, n, 300, 400),
                         deltas = uniform(s, 4 * n, -30, 30), want(4 * n);
      if (n > 3) boxes[3] = kNan, reference[6] = reference[4], deltas[9] = kInf, deltas[11] = kNan;
      under_all_schedules([&] {
        auto a = input(boxes, "gt"), b = input(reference, "reference"), d = input(deltas, "deltas"),
             out = output<float>(4 * n, "encoded"), back = output<float>(4 * n, "decoded");
        host::encode_boxes(p, n, boxes.data(), reference.data(), want.data());
        cuda::encode_boxes(p, n, a.get(), b.get(), out.get(), nullptr);
        expect_same_bits(want, out, "encoded");
        host::decode_boxes(p, n, deltas.data(), reference.data(), want.data());
        cuda::decode_boxes(p, n, d.get(), b.get(), back.get(), nullptr);
        expect_same_bits(want, back, "decoded");
      });
    }
}

}  // namespace
}  // namespace ttt::kernels
