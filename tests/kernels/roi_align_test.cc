// RoIAlign: threads, guard words, adjointness, closed forms, odd RoIs; and the variants for instruction sets.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/parallel.h"
#include "guarded.h"
#include "inputs.h"
#include "kernels/match/host_block.h"
#include "kernels/nms/nms.h"
#include "kernels/roi_align/host_stencil.h"

namespace ttt::kernels {
namespace {

// A pyramid of two levels with odd sizes, and RoIs of all kinds.
struct Roi {
  Roi(std::int64_t channels, int sampling_ratio, bool aligned) {
    p.levels = 2, p.min_level = 2, p.images = 3, p.channels = channels, p.rois = 41, p.pooled = 7;
    p.sampling_ratio = sampling_ratio, p.aligned = aligned, p.canonical_size = 40;
    const std::int64_t sizes[2][2] = {{33, 47}, {17, 24}};
    Stream s = stream(channels + 7 * sampling_ratio);
    for (int l = 0; l < 2; ++l) {
      p.height[l] = sizes[l][0], p.width[l] = sizes[l][1], p.scale[l] = l ? 0.125f : 0.25f;
      features.push_back(uniform(s, p.images * sizes[l][0] * sizes[l][1] * channels, -1, 1));
    }
    rois = boxes_in(s, p.rois, 132, 188, 0.5);
    const float odd[][4] = {
        {kNan, 1, 2, 3}, {0, 0, kInf, 5}, {-900, -900, -800, -800}, {20, 20, 10, 10}, {-30, -30, 400, 400}};
    for (int i = 0; i < 5; ++i) std::copy_n(odd[i], 4, rois.begin() + 4 * (i + 3));
    for (std::int64_t r = 0; r < p.rois; ++r) image.push_back(r == 11 ? -1 : static_cast<std::int32_t>(s.below(3)));
    grad = uniform(s, p.rois * 49 * channels, -1, 1);
  }
  std::vector<const float*> in() const { return {features[0].data(), features[1].data()}; }
  RoiAlignParams p;
  std::vector<std::vector<float>> features;
  std::vector<float> rois, grad;
  std::vector<std::int32_t> image;
};

class RoiAlign : public testing::TestWithParam<std::tuple<int, int, bool>> {};
INSTANTIATE_TEST_SUITE_P(Shapes, RoiAlign,
                         testing::Combine(testing::Values(1, 15, 64, 200), testing::Values(2, 0), testing::Bool()));

TEST_P(RoiAlign, AnyThreads_SameBits) {
  const Roi t(std::get<0>(GetParam()), std::get<1>(GetParam()), std::get<2>(GetParam()));
  const auto forward = [&](ThreadPool* pool, Guarded<float>& out) {
    host::roi_align_forward(t.p, t.in().data(), t.rois.data(), t.image.data(), out.get(), pool);
  };
  const auto backward = [&](ThreadPool* pool, Guarded<float>& g0, Guarded<float>& g1) {
    std::fill_n(g0.get(), g0.size(), 0.5f), std::fill_n(g1.get(), g1.size(), 0.0f);
    float* grads[] = {g0.get(), g1.get()};
    host::roi_align_backward(t.p, t.grad.data(), t.rois.data(), t.image.data(), grads, pool);
  };
  Guarded<float> out(t.grad.size()), g0(t.features[0].size()), g1(t.features[1].size());
  forward(nullptr, out);
  backward(nullptr, g0, g1);
  for (int threads = 1; threads <= 3; ++threads) {
    ThreadPool pool(threads);
    Guarded<float> o(t.grad.size()), h0(t.features[0].size()), h1(t.features[1].size());
    forward(&pool, o);
    backward(&pool, h0, h1);
    EXPECT_TRUE(out.same(o) && g0.same(h0) && g1.same(h1)) << threads;
  }
}

// <forward(F), G> = <F, backward(G)>: the backward pass is the transpose of the (linear) forward pass.
TEST_P(RoiAlign, Backward_IsAdjoint) {
  const Roi t(std::get<0>(GetParam()), std::get<1>(GetParam()), std::get<2>(GetParam()));
  std::vector<float> out(t.grad.size());
  host::roi_align_forward(t.p, t.in().data(), t.rois.data(), t.image.data(), out.data());
  std::vector<std::vector<float>> g{std::vector<float>(t.features[0].size()), std::vector<float>(t.features[1].size())};
  float* grads[] = {g[0].data(), g[1].data()};
  host::roi_align_backward(t.p, t.grad.data(), t.rois.data(), t.image.data(), grads);
  double left = 0, right = 0, size = 0;
  for (std::size_t i = 0; i < out.size(); ++i)
    left += double{out[i]} * t.grad[i], size += std::fabs(double{out[i]} * t.grad[i]);
  for (int l = 0; l < 2; ++l)
    for (std::size_t i = 0; i < g[l].size(); ++i) right += double{g[l][i]} * t.features[l][i];
  EXPECT_GT(size, 1.0);
  // Each factor is a float32 sum of at most some hundred terms: 1e-5 is 170 units of roundoff of the terms' size.
  EXPECT_NEAR(left, right, 1e-5 * size);
}

TEST_P(RoiAlign, RoisWithoutSamples_ZeroNoGradient) {
  const Roi t(std::get<0>(GetParam()), std::get<1>(GetParam()), std::get<2>(GetParam()));
  const std::int64_t size = 49 * t.p.channels;
  Guarded<float> out(t.grad.size());
  host::roi_align_forward(t.p, t.in().data(), t.rois.data(), t.image.data(), out.get());
  for (const int r : {3, 4, 5, 11})  // NaN, infinite, far outside, no image
    for (std::int64_t i = 0; i < size; ++i) ASSERT_EQ(out[r * size + i], 0.0f) << r;
  RoiAlignParams p = t.p;
  p.rois = 3;
  const std::int32_t image[] = {0, 1, 2};
  std::vector<float> g0(t.features[0].size(), 7.0f), g1(t.features[1].size(), 7.0f);
  float* grads[] = {g0.data(), g1.data()};
  host::roi_align_backward(p, t.grad.data(), t.rois.data() + 12, image, grads);
  EXPECT_EQ(std::count(g0.begin(), g0.end(), 7.0f), std::ssize(g0));
  EXPECT_EQ(std::count(g1.begin(), g1.end(), 7.0f), std::ssize(g1));
}

// A feature map that is linear in x and y is reproduced at the bin centres: a closed form, inside the border.
TEST(RoiAlignValue, LinearMap_GivesBinCentres) {
  RoiAlignParams p;
  p.levels = 1, p.images = 1, p.channels = 2, p.rois = 1, p.pooled = 4, p.height[0] = 20, p.width[0] = 30,
  p.scale[0] = 0.5f;
  for (const bool aligned : {false, true}) {
    p.aligned = aligned;
    std::vector<float> map;
    for (int y = 0; y < 20; ++y)
      for (int x = 0; x < 30; ++x) map.insert(map.end(), {float(x), float(y)});
    const float roi[] = {8, 6, 40, 30}, *features[] = {map.data()};
    const std::int32_t image[] = {0};
    std::vector<float> out(32);
    host::roi_align_forward(p, features, roi, image, out.data());
    const double offset = aligned ? 0.5 : 0.0;
    for (int b = 0; b < 16; ++b) {
      // 4 units of roundoff at magnitude 30.
      EXPECT_NEAR(out[2 * b], 4 - offset + (b % 4 + 0.5) * 4, 8e-6);
      EXPECT_NEAR(out[2 * b + 1], 3 - offset + (b / 4 + 0.5) * 3, 8e-6);
    }
  }
}

TEST(RoiAlignValue, BoundarySides_GiveTheirLevels) {
  RoiAlignParams p;
  p.levels = 4;
  const auto level = [&](float side) {
    const float roi[] = {0, 0, side, side};
    return roi_level(p, roi);
  };
  EXPECT_EQ(level(0), 0);
  EXPECT_EQ(level(111.9f), 0);
  EXPECT_EQ(level(112), 1);
  EXPECT_EQ(level(223.9f), 1);
  EXPECT_EQ(level(224), 2);
  EXPECT_EQ(level(448), 3);
  EXPECT_EQ(level(4000), 3);
  p.legacy_area = true;  // + 1
  EXPECT_EQ(level(111), 1);
  EXPECT_EQ(level(223), 2);
  const float inverted[] = {10, 10, 5, 20};
  EXPECT_EQ(roi_level(p, inverted), -1);
}

// The variants for other instruction sets differ only by fused multiply-adds; without them a long vector and a short
// one do the same operations.
TEST(SimdVariants, EveryInstructionSet_AgreesWithBase) {
  using namespace host;
  std::vector<Isa> better;
  for (const Isa isa : {Isa::kAvx2, Isa::kAvx512})
    if (isa <= best_isa()) better.push_back(isa);
  if (better.empty()) GTEST_SKIP() << "this CPU has neither AVX2 nor AVX-512";
  Stream s = stream(3);
  for (const Isa isa : better) {
    for (const std::int64_t channels : {1, 3, 16, 67, 300}) {
      const std::vector<float> src = uniform(s, 6 * 6 * channels, -1, 1);
      const std::vector<std::int32_t> begin{0, 2, 2, 5};
      std::vector<Tap> taps;
      for (int i = 0; i < 5; ++i)
        taps.push_back({static_cast<std::int32_t>(s.below(6)), static_cast<float>(s.uniform())});
      const TapLists lists{3, begin.data(), taps.data()};
      for (const bool add : {false, true}) {
        Guarded<float> a(9 * channels), b(9 * channels);
        std::fill_n(a.get(), a.size(), 2.0f), std::fill_n(b.get(), b.size(), 2.0f);
        for (auto [loop, out] : {std::pair{stencil_loop(Isa::kBase), a.get()}, std::pair{stencil_loop(isa), b.get()}})
          loop({lists, lists, src.data(), out, 6 * channels, channels, 3 * channels, channels, channels, add});
        for (std::int64_t i = 0; i < a.size(); ++i)
          ASSERT_NEAR(a[i], b[i], 2e-6) << i;  // 9 terms of at most 1, each 1 unit
      }
    }
    CandidateBlock a, b;
    const std::vector<float> boxes = boxes_in(s, 250, 90, 90), gt = boxes_in(s, 20, 90, 90);
    fill_block(boxes.data(), 250, 1.0f, a), fill_block(boxes.data(), 250, 1.0f, b);
    for (int g = 0; g < 20; ++g) {
      const MatchLoops base = match_loops(Isa::kBase), wide = match_loops(isa);
      ASSERT_EQ(base.iou(a, gt.data() + 4 * g), wide.iou(b, gt.data() + 4 * g));
      EXPECT_EQ(base.update(a, g), wide.update(b, g));
    }
    EXPECT_TRUE(std::equal(a.best, a.best + 250, b.best) && std::equal(a.argmax, a.argmax + 250, b.argmax));
    KeptBoxes kept(100);
    for (int i = 0; i < 100; ++i) {
      EXPECT_EQ(overlaps_loop(Isa::kBase)({0.6f, 0}, kept, boxes.data() + 4 * i),
                overlaps_loop(isa)({0.6f, 0}, kept, boxes.data() + 4 * i));
      kept.add(boxes.data() + 4 * i, 0);
    }
  }
}

}  // namespace
}  // namespace ttt::kernels
