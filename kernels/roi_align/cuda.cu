// RoIAlign over a pyramid, channels last: all levels in one launch; the kernel finds a RoI's level.
//
// A block per RoI writes the taps of its bins on both axes to shared memory once, then gathers (bins x channels), four
// channels a thread. Sums are float32 in the order of the reference implementation, with its fused multiply-adds.
#include <algorithm>

#include "kernels/common/launch.h"
#include "kernels/common/vector.h"
#include "kernels/roi_align/taps.h"

namespace ttt::kernels::cuda {
namespace {

constexpr int kThreads = 256, kWide = 4;

template <class T> struct Features { const T* level[kMaxLevels]; };

// The taps of bin b of axis a lie at taps[a * capacity + begin[a * pooled + b]], count[...] of them.
struct TapTable {
  Tap* taps;
  int *begin, *count;
  int capacity;

  __device__ TapTable(void* shared, int pooled, int capacity)
      : taps(static_cast<Tap*>(shared)), begin(reinterpret_cast<int*>(taps + 2 * capacity)), count(begin + 2 * pooled),
        capacity(capacity) {}
  static std::size_t bytes(int pooled, int capacity) { return 2 * (capacity * sizeof(Tap) + 2 * pooled * sizeof(int)); }
};

// Places for one axis. A fixed number of samples: two for each. Adaptive: neighbouring bins share at most two pixels,
// so the place "first pixel + 4 x bin" keeps them apart.
std::int64_t tap_capacity(const RoiAlignParams& p) {
  if (p.sampling_ratio > 0) return std::int64_t{2} * p.sampling_ratio * p.pooled;
  std::int64_t longest = 0;
  for (int l = 0; l < p.levels; ++l) longest = std::max({longest, p.height[l], p.width[l]});
  return longest + 4 * p.pooled;
}

__device__ void fill_table(const RoiAlignParams& p, const RoiAxis& y, const RoiAxis& x, const TapTable& table) {
  for (int i = static_cast<int>(threadIdx.x); i < 2 * p.pooled; i += kThreads) {
    const int axis = i / p.pooled, b = i % p.pooled;
    int begin = 0;
    const auto place = [&](std::int32_t pixel) {
      begin = p.sampling_ratio > 0 ? 2 * p.sampling_ratio * b : pixel + 4 * b;
      return table.taps + axis * table.capacity + begin;
    };
    RoiAxis own = y;  // a copy by a condition: an address chosen by one would put both into local memory
    if (axis == 1) own = x;
    table.count[i] = bin_taps(own, b, place);
    table.begin[i] = begin;
  }
}

template <class T, int kWidth> __global__ void __launch_bounds__(kThreads)
    roi_align_forward_kernel(__grid_constant__ const RoiAlignParams p, __grid_constant__ const Features<T> features,
        const float* rois, const std::int32_t* roi_image, T* out, int capacity) {
  using Vector = Pack<T, kWidth>;
  const TapTable table(dynamic_shared<Tap>(), p.pooled, capacity);
  const std::int64_t roi = blockIdx.x;
  const int vectors = static_cast<int>(p.channels / kWidth), items = p.pooled * p.pooled * vectors;
  Vector* dst = reinterpret_cast<Vector*>(out) + roi * items;
  const std::int32_t image = roi_image[roi];
  const float corners[4] = {rois[4 * roi], rois[4 * roi + 1], rois[4 * roi + 2], rois[4 * roi + 3]};
  const int level = roi_level(p, corners);
  RoiAxis y, x;
  const bool samples = image >= 0 && image < p.images && level >= 0 &&
                       roi_axis(roi_span(p, level, corners + 1), p.pooled, p.sampling_ratio, p.height[level], y) &&
                       roi_axis(roi_span(p, level, corners), p.pooled, p.sampling_ratio, p.width[level], x);
  if (!samples) {
    for (int i = static_cast<int>(threadIdx.x); i < items; i += kThreads) dst[i] = packed<T, kWidth>({});
    return;
  }
  fill_table(p, y, x, table);
  __syncthreads();
  const std::int64_t row = p.width[level] * vectors;
  const Vector* src = reinterpret_cast<const Vector*>(features.level[level]) + image * p.height[level] * row;
  for (int i = static_cast<int>(threadIdx.x); i < items; i += kThreads) {
    const int bin = i / vectors, by = bin / p.pooled, bx = p.pooled + bin % p.pooled;
    const Tap* ty = table.taps + table.begin[by];
    const Tap* tx = table.taps + table.capacity + table.begin[bx];
    float sum[kWidth] = {};
    for (int a = 0; a < table.count[by]; ++a) {
      const Vector* line = src + ty[a].index * row + i % vectors;
      for (int b = 0; b < table.count[bx]; ++b)
        add_product(ty[a].weight * tx[b].weight, line[static_cast<std::int64_t>(tx[b].index) * vectors], sum);
    }
    dst[i] = packed<T, kWidth>(sum);
  }
}

}  // namespace

template <class T> void roi_align_forward(const RoiAlignParams& p, const T* const* features, const float* rois,
    const std::int32_t* roi_image, T* out, cudaStream_t stream) {
  if (p.levels < 1 || p.levels > kMaxLevels || p.pooled < 1)
    throw UsageError("RoIAlign wants 1 to 8 levels and at least one bin. Correct RoiAlignParams.");
  Features<T> f{};
  bool wide = takes_packs<T, kWide>(p.channels, out);
  for (int l = 0; l < p.levels; ++l) {
    f.level[l] = features[l];
    wide = wide && takes_packs<T, kWide>(p.channels, features[l]);
  }
  const std::int64_t capacity = tap_capacity(p);
  const Shape shape{.x = p.rois, .threads = kThreads, .shared = TapTable::bytes(p.pooled, static_cast<int>(capacity))};
  launch("roi_align_forward", wide ? roi_align_forward_kernel<T, kWide> : roi_align_forward_kernel<T, 1>, shape, stream,
      p, f, rois, roi_image, out, static_cast<int>(capacity));
}

template void roi_align_forward(
    const RoiAlignParams&, const float* const*, const float*, const std::int32_t*, float*, cudaStream_t);
template void roi_align_forward(
    const RoiAlignParams&, const Bfloat16* const*, const float*, const std::int32_t*, Bfloat16*, cudaStream_t);
template void roi_align_forward(
    const RoiAlignParams&, const Float16* const*, const float*, const std::int32_t*, Float16*, cudaStream_t);

}  // namespace ttt::kernels::cuda
