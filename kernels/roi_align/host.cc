// RoIAlign (He et al. 2017) over a pyramid, channels last. The samples are torchvision's (kernels/roi_align/taps.h);
// the samples of a bin are added in another order.
#include <algorithm>
#include <vector>

#include "core/error.h"
#include "core/parallel.h"
#include "kernels/roi_align/host_stencil.h"

#define TTT_SIMD_BODY "kernels/roi_align/host_simd.inc"
#include "kernels/common/simd_variants.inc"

namespace ttt::kernels::host {
namespace {

// Taps of every bin along one axis, or transposed: taps of every feature pixel.
struct Axis {
  std::vector<std::int32_t> begin;
  std::vector<Tap> taps;
  std::int32_t first = 0;  // transposed: the pixel of output 0

  TapLists lists() const { return {static_cast<std::int32_t>(begin.size()) - 1, begin.data(), taps.data()}; }
};

// False where the RoI samples nothing on this axis.
bool sample_axis(const RoiAlignParams& p, const RoiSpan& span, std::int64_t extent, Axis& axis) {
  axis.begin.assign(1, 0);
  axis.taps.clear();
  RoiAxis a;
  if (!roi_axis(span, p.pooled, p.sampling_ratio, extent, a)) return false;
  axis.taps.resize(static_cast<std::size_t>(p.pooled) * a.grid * 2);
  Tap* taps = axis.taps.data();
  for (int b = 0; b < p.pooled; ++b) {
    taps += bin_taps(a, b, [=](std::int32_t) { return taps; });
    axis.begin.push_back(static_cast<std::int32_t>(taps - axis.taps.data()));
  }
  axis.taps.resize(axis.begin.back());
  return !axis.taps.empty();
}

// Pixels [first, first + outputs) with the bins that read them, bins ascending.
void transpose(const Axis& bins, Axis& pixels) {
  const auto [lo, hi] = std::minmax_element(bins.taps.begin(), bins.taps.end(),
                                            [](const Tap& a, const Tap& b) { return a.index < b.index; });
  pixels.first = lo->index;
  pixels.begin.assign(hi->index - lo->index + 2, 0);
  for (const Tap& t : bins.taps) ++pixels.begin[t.index - pixels.first + 1];
  for (std::size_t i = 1; i < pixels.begin.size(); ++i) pixels.begin[i] += pixels.begin[i - 1];
  pixels.taps.resize(bins.taps.size());
  for (std::size_t b = 0; b + 1 < bins.begin.size(); ++b)
    for (std::int32_t t = bins.begin[b]; t < bins.begin[b + 1]; ++t)
      pixels.taps[pixels.begin[bins.taps[t].index - pixels.first]++] = {static_cast<std::int32_t>(b),
                                                                        bins.taps[t].weight};
  // begin[i] has moved to the end of i, which is the beginning of i + 1.
  std::move_backward(pixels.begin.begin(), pixels.begin.end() - 1, pixels.begin.end());
  pixels.begin[0] = 0;
}

struct Sampled {
  Axis y, x;
  int level = -1;
};

// False where the RoI touches no feature pixel.
bool sample_roi(const RoiAlignParams& p, const float* roi, Sampled& out) {
  out.level = roi_level(p, roi);
  if (out.level < 0) return false;
  return sample_axis(p, roi_span(p, out.level, roi + 1), p.height[out.level], out.y) &&
         sample_axis(p, roi_span(p, out.level, roi), p.width[out.level], out.x);
}

void check(const RoiAlignParams& p) {
  if (p.levels < 1 || p.levels > kMaxLevels || p.pooled < 1)
    throw UsageError("RoIAlign wants 1 to 8 levels and at least one bin. Correct RoiAlignParams.");
}

}  // namespace

StencilLoop stencil_loop(Isa isa) { return TTT_PICK(isa, stencil); }

void roi_align_forward(const RoiAlignParams& p, const float* const* features, const float* rois,
                       const std::int32_t* roi_image, float* out, ThreadPool* pool) {
  check(p);
  const StencilLoop stencil = stencil_loop(best_isa());
  const std::int64_t row = p.pooled * p.channels, size = p.pooled * row;
  parallel_ranges(pool, p.rois, 8, [&](std::int64_t begin, std::int64_t end) {
    Sampled s;
    for (std::int64_t r = begin; r < end; ++r) {
      float* dst = out + r * size;
      if (roi_image[r] < 0 || roi_image[r] >= p.images || !sample_roi(p, rois + 4 * r, s)) {
        std::fill(dst, dst + size, 0.0f);
        continue;
      }
      const std::int64_t width = p.width[s.level] * p.channels;
      const float* src = features[s.level] + roi_image[r] * p.height[s.level] * width;
      stencil({s.y.lists(), s.x.lists(), src, dst, width, p.channels, row, p.channels, p.channels, false});
    }
  });
}

void roi_align_backward(const RoiAlignParams& p, const float* grad_out, const float* rois,
                        const std::int32_t* roi_image, float* const* grad_features, ThreadPool* pool) {
  check(p);
  const StencilLoop stencil = stencil_loop(best_isa());
  const std::int64_t row = p.pooled * p.channels, size = p.pooled * row;
  // A thread owns some channels of one image and adds the RoIs in their order: the sums are the same for any cut.
  const int threads = pool == nullptr ? 1 : pool->threads();
  const std::int64_t cuts = p.images >= 2 * threads || threads == 1 ? 1 : std::max<std::int64_t>(1, p.channels / 64);
  parallel_for(pool, p.images * cuts, [&](std::int64_t unit) {
    const std::int64_t image = unit / cuts, cut = unit % cuts;
    const std::int64_t c = cut * 64, channels = (cut == cuts - 1 ? p.channels : c + 64) - c;
    Sampled s;
    Axis y, x;
    for (std::int64_t r = 0; r < p.rois; ++r) {
      if (roi_image[r] != image || !sample_roi(p, rois + 4 * r, s)) continue;
      transpose(s.y, y);
      transpose(s.x, x);
      const std::int64_t width = p.width[s.level] * p.channels;
      float* dst = grad_features[s.level] + (image * p.height[s.level] + y.first) * width + x.first * p.channels + c;
      stencil({y.lists(), x.lists(), grad_out + r * size + c, dst, row, p.channels, width, p.channels, channels, true});
    }
  });
}

}  // namespace ttt::kernels::host
