// RoIAlign forward and backward over a pyramid of strides 4 to 32, one thread.
// links: ttt_kernels_host
#include <benchmark/benchmark.h>

#include <algorithm>

#include "kernel_inputs.h"
#include "kernels/host/detection.h"

namespace ttt::kernels {
namespace {

struct Shape {
  std::int64_t images, height, width, channels, rois;
  int pooled;
};

// The small recipe's step (4 images of a rank) and MLPerf's (2 images): box head and mask head.
constexpr Shape kShapes[] = {
    {4, 128, 128, 64, 256, 7}, {4, 128, 128, 64, 64, 14}, {2, 800, 1344, 256, 1024, 7}, {2, 800, 1344, 256, 256, 14}};

struct Inputs {
  explicit Inputs(const Shape& s) {
    p.levels = 4, p.images = s.images, p.channels = s.channels, p.rois = s.rois, p.pooled = s.pooled;
    for (int l = 0; l < 4; ++l) {
      const std::int64_t stride = 4 << l;
      p.height[l] = (s.height + stride - 1) / stride, p.width[l] = (s.width + stride - 1) / stride,
      p.scale[l] = 1.0f / stride;
      features.push_back(random_values(l, p.images * p.height[l] * p.width[l] * p.channels, -1, 1));
      pointers.push_back(features.back().data());
    }
    rois = random_boxes(100, s.rois, s.height, s.width, s.height < 200 ? 8 : 16);
    for (std::int64_t r = 0; r < s.rois; ++r) image.push_back(static_cast<std::int32_t>(r * s.images / s.rois));
    out = random_values(101, s.rois * s.pooled * s.pooled * s.channels, -1, 1);
  }
  RoiAlignParams p;
  std::vector<Values> features;
  std::vector<float*> pointers;
  Values rois, out;
  std::vector<std::int32_t> image;
};

void roi_align_forward(benchmark::State& state) {
  Inputs in(kShapes[state.range(0)]);
  for (auto _ : state) {
    host::roi_align_forward(in.p, in.pointers.data(), in.rois.data(), in.image.data(), in.out.data());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * in.p.rois);
}

// With the zeroing of the gradients, which the caller owes.
void roi_align_backward(benchmark::State& state) {
  Inputs in(kShapes[state.range(0)]);
  for (auto _ : state) {
    for (auto& f : in.features) std::fill(f.begin(), f.end(), 0.0f);
    host::roi_align_backward(in.p, in.out.data(), in.rois.data(), in.image.data(), in.pointers.data());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * in.p.rois);
}

BENCHMARK(roi_align_forward)->DenseRange(0, 3)->Unit(benchmark::kMicrosecond);
BENCHMARK(roi_align_backward)->DenseRange(0, 3)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace ttt::kernels
