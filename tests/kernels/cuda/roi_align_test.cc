// RoIAlign's CUDA kernels against their reference implementations: to the bit.
#include "kernels/roi_align/roi_align.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "same_bits.h"
#include "tests/kernels/inputs.h"

namespace ttt::kernels {
namespace {

struct Case {
  std::int64_t channels;
  int sampling_ratio, pooled, levels;
  bool aligned, legacy_area;
};

// A pyramid with odd sizes, and RoIs of all kinds.
struct Inputs {
  explicit Inputs(const Case& c, std::int64_t rois_wanted = 19) {
    p.levels = c.levels, p.min_level = 2, p.images = 2, p.channels = c.channels, p.rois = rois_wanted,
    p.pooled = c.pooled;
    p.sampling_ratio = c.sampling_ratio, p.aligned = c.aligned, p.legacy_area = c.legacy_area, p.canonical_size = 40,
    p.canonical_level = 3;
    Stream s = stream(700 + static_cast<std::uint64_t>(c.channels + 7 * c.sampling_ratio + c.pooled + c.levels));
    for (int l = 0; l < p.levels; ++l) {
      p.height[l] = (33 >> l) + l, p.width[l] = (46 >> l) + 1, p.scale[l] = 0.25f / static_cast<float>(1 << l);
      features.push_back(uniform(s, p.images * p.height[l] * p.width[l] * p.channels, -1, 1));
    }
    rois = boxes_in(s, p.rois, 132, 184, 0.5);
    const float odd[][4] = {{kNan, 1, 2, 3}, {0, 0, kInf, 5}, {-900, -900, -800, -800}, {-30, -30, 400, 400},
        {7, 7, 7, 7}, {130, 180, 184, 183}};
    for (std::size_t i = 0; i < std::size(odd) && static_cast<std::int64_t>(i) + 3 < p.rois; ++i)
      std::copy_n(odd[i], 4, rois.begin() + 4 * (i + 3));
    for (std::int64_t r = 0; r < p.rois; ++r)
      image.push_back(r == 11 ? -1 : (r == 12 ? 2 : static_cast<std::int32_t>(s.below(2))));
    grad = uniform(s, p.rois * c.pooled * c.pooled * c.channels, -1, 1);
  }
  RoiAlignParams p;
  std::vector<std::vector<float>> features;
  std::vector<float> rois, grad;
  std::vector<std::int32_t> image;
};

class RoiAlign : public FusedTest, public testing::WithParamInterface<Case> {};
class RoiAlignBackward : public FusedTest {};
INSTANTIATE_TEST_SUITE_P(Shapes, RoiAlign,
    testing::Values(Case{8, 2, 7, 4, false, false}, Case{8, 2, 7, 4, true, true}, Case{3, 0, 7, 2, false, true},
        Case{4, 0, 5, 3, true, false}, Case{1, 2, 1, 1, false, false}, Case{20, 2, 14, 2, true, false},
        Case{6, 3, 3, 4, false, false}, Case{260, 2, 2, 2, false, true}, Case{70, 2, 2, 1, true, true}));

// The reference implementation is float32. Expected for other types: its result for the widened numbers, rounded once.
template <class T> void expect_forward(const Inputs& t) {
  std::vector<std::vector<T>> all;
  std::vector<std::vector<float>> wide;
  std::vector<const float*> host_features;
  for (const auto& f : t.features) wide.push_back(widen_all(all.emplace_back(narrow_all<T>(f))));
  for (const auto& f : wide) host_features.push_back(f.data());
  std::vector<float> want(t.grad.size());
  host::roi_align_forward(t.p, host_features.data(), t.rois.data(), t.image.data(), want.data());
  under_all_schedules([&] {
    std::vector<std::unique_ptr<DeviceBuffer<T>>> features;
    std::vector<const T*> pointers;
    for (const auto& f : all) {
      features.push_back(std::make_unique<DeviceBuffer<T>>(f, Kind::kInput, "features"));
      pointers.push_back(features.back()->get());
    }
    auto boxes = input(t.rois, "rois");
    auto image = input(t.image, "roi_image");
    auto out = output<T>(std::ssize(t.grad), "out");
    cuda::roi_align_forward(t.p, pointers.data(), boxes.get(), image.get(), out.get(), nullptr);
    expect_same_bits(narrow_all<T>(want), out, "out");
  });
}

template <class T> void expect_backward(const Inputs& t) {
  std::vector<std::vector<T>> before;
  std::vector<std::vector<float>> want;
  std::vector<float*> want_pointers;
  for (const auto& f : t.features)
    want.push_back(widen_all(before.emplace_back(narrow_all<T>(f))));  // gradients are added to what is there
  for (auto& f : want) want_pointers.push_back(f.data());
  const std::vector<T> grads = narrow_all<T>(t.grad);
  host::roi_align_backward(t.p, widen_all(grads).data(), t.rois.data(), t.image.data(), want_pointers.data());
  under_all_schedules([&] {
    std::vector<std::unique_ptr<DeviceBuffer<T>>> gradients;
    std::vector<T*> pointers;
    for (const auto& f : before) {
      gradients.push_back(std::make_unique<DeviceBuffer<T>>(f, Kind::kInOut, "a gradient"));
      pointers.push_back(gradients.back()->get());
    }
    auto boxes = input(t.rois, "rois"), workspace = scratch(cuda::roi_align_backward_workspace(t.p));
    auto grad = input(grads, "grad_out");
    auto image = input(t.image, "roi_image");
    cuda::roi_align_backward(t.p, grad.get(), boxes.get(), image.get(), pointers.data(), workspace.get(), nullptr);
    for (std::size_t l = 0; l < want.size(); ++l)
      expect_same_bits(narrow_all<T>(want[l]), *gradients[l], "gradient of level " + std::to_string(l));
  });
}

TEST_P(RoiAlign, Forward_SameBits) {
  for (const std::int64_t rois : {19, 1, 0}) expect_forward<float>(Inputs(GetParam(), rois));
  expect_forward<Bfloat16>(Inputs(GetParam()));
  expect_forward<Float16>(Inputs(GetParam()));
}

TEST_P(RoiAlign, Backward_SameBits) {
  for (const std::int64_t rois : {19, 1, 0}) expect_backward<float>(Inputs(GetParam(), rois));
  expect_backward<Bfloat16>(Inputs(GetParam()));
  expect_backward<Float16>(Inputs(GetParam()));
}

// More RoIs than a block tests at a time, all on one spot: their order is the order of the sums.
TEST_F(RoiAlignBackward, ManyRoisPerTile_SameBits) {
  RoiAlignParams p;
  p.levels = 1, p.images = 1, p.channels = 1, p.rois = 600, p.pooled = 2, p.height[0] = 5, p.width[0] = 6,
  p.scale[0] = 0.25f;
  Stream s = stream(720);
  const std::vector<float> rois = boxes_in(s, 600, 20, 24, 0.5), grad = uniform(s, 600 * 4, -1, 1), before(30, 0.25f);
  const std::vector<std::int32_t> image(600, 0);
  std::vector<float> want = before;
  float* pointer = want.data();
  host::roi_align_backward(p, grad.data(), rois.data(), image.data(), &pointer);
  under_all_schedules([&] {
    auto boxes = input(rois, "rois"), g = input(grad, "grad_out"),
         workspace = scratch(cuda::roi_align_backward_workspace(p)), got = in_out(before, "gradient");
    auto images = input(image, "roi_image");
    float* pointers[] = {got.get()};
    cuda::roi_align_backward(p, g.get(), boxes.get(), images.get(), pointers, workspace.get(), nullptr);
    expect_same_bits(want, got, "gradient");
  });
}

// Where the samples of an inverted RoI descend (aligned), the reference implementation adds a pixel's two products, the
// kernel its two weights.
TEST_F(RoiAlignBackward, InvertedRoi_DiffersByRoundingOnly) {
  RoiAlignParams p;
  p.levels = 1, p.images = 1, p.channels = 4, p.rois = 1, p.pooled = 7, p.aligned = true, p.height[0] = 20,
  p.width[0] = 20, p.scale[0] = 0.5f;
  Stream s = stream(721);
  const std::vector<float> roi{30, 30, 10, 12}, grad = uniform(s, 49 * 4, -1, 1);
  const std::vector<std::int32_t> image{0};
  std::vector<float> want(1600, 0.0f);
  float* pointer = want.data();
  host::roi_align_backward(p, grad.data(), roi.data(), image.data(), &pointer);
  under_all_schedules([&] {
    auto boxes = input(roi, "rois"), g = input(grad, "grad_out"),
         workspace = scratch(cuda::roi_align_backward_workspace(p));
    auto got = in_out(std::vector<float>(1600, 0.0f), "gradient");
    auto images = input(image, "roi_image");
    float* pointers[] = {got.get()};
    cuda::roi_align_backward(p, g.get(), boxes.get(), images.get(), pointers, workspace.get(), nullptr);
    // At most 16 terms of at most 1, each rounded once more or less.
    for (std::int64_t i = 0; i < got.size(); ++i) ASSERT_NEAR(want[i], got[i], 16 * 0x1p-24) << i;
  });
}

}  // namespace
}  // namespace ttt::kernels
