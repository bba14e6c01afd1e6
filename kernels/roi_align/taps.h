// RoIAlign's pyramid level of a RoI and its samples along one axis, shared by the kernel and the reference
// implementation. Positions, borders and the order of the arithmetic are torchvision's.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/host_device.h"
#include "kernels/common/box_math.h"
#include "kernels/roi_align/roi_align.h"

namespace ttt::kernels {

// Pyramid level of a RoI counted from p.min_level, or -1 where it has none (NaN, or a negative area: such rows are
// zero). torchvision adds its eps after the logarithm, maskrcnn-benchmark before it.
TTT_HD inline int roi_level(const RoiAlignParams& p, const float* roi) {
  if (p.levels == 1) return 0;
  const float s = sqrtf(box_area(roi, p.legacy_area ? 1.0f : 0.0f)) / p.canonical_size;
  const float canonical = static_cast<float>(p.canonical_level), eps = 1e-6f;
  const float level = floorf(p.legacy_area ? canonical + log2f(s + eps) : canonical + log2f(s) + eps);
  if (!(level == level)) return -1;
  const float lo = static_cast<float>(p.min_level), hi = static_cast<float>(p.min_level + p.levels - 1);
  return static_cast<int>(level < lo ? lo : (level > hi ? hi : level)) - p.min_level;
}

struct RoiSpan {
  float start, length;  // of a RoI on one axis, in feature pixels
};

// roi: points at x1 or at y1 of a box x1, y1, x2, y2.
TTT_HD inline RoiSpan roi_span(const RoiAlignParams& p, int level, const float* roi) {
  const float scale = p.scale[level], offset = p.aligned ? 0.5f : 0.0f;
  RoiSpan s;
  s.start = roi[0] * scale - offset;
  s.length = roi[2] * scale - offset - s.start;
  if (!p.aligned && s.length < 1.0f) s.length = 1.0f;  // the first published version forces malformed RoIs to one pixel
  return s;
}

// The samples of one axis: `grid` in each bin.
struct RoiAxis {
  float start, bin, samples, inverse, limit;
  std::int32_t last;
  int grid;
  bool exact;  // dividing by a power of two and multiplying by its inverse are the same
};

// Beyond any image; keeps the sample counts of absurd RoIs inside an int.
inline constexpr float kLongestSpan = 1e6f;

// False where the span is not finite (or absurd): such a RoI samples nothing.
TTT_HD inline bool roi_axis(const RoiSpan& span, int pooled, int sampling_ratio, std::int64_t extent, RoiAxis& a) {
  if (!(fabsf(span.start) <= 3.402823466e38f) || !(fabsf(span.length) <= kLongestSpan) || extent <= 0) return false;
  a.start = span.start;
  a.bin = span.length / static_cast<float>(pooled);
  const int grid = sampling_ratio > 0 ? sampling_ratio : static_cast<int>(ceilf(a.bin));
  a.grid = grid > 0 ? grid : 0;
  a.samples = static_cast<float>(a.grid);
  a.inverse = 1.0f / a.samples;
  a.exact = (a.grid & (a.grid - 1)) == 0;
  a.limit = static_cast<float>(extent);
  a.last = static_cast<std::int32_t>(extent - 1);
  return true;
}

// Calls visit(pixel, weight) for what the samples of bin b read, one or two pixels a sample. The same pixel may come
// several times: its weights are to be added in this order.
template <class Visit>
TTT_HD inline void visit_samples(const RoiAxis& a, int b, const Visit& visit) {
  const auto divide = [&](float x) { return a.exact ? x * a.inverse : x / a.samples; };
  for (int s = 0; s < a.grid; ++s) {
    float v = a.start + static_cast<float>(b) * a.bin + divide((static_cast<float>(s) + 0.5f) * a.bin);
    if (!(v >= -1.0f && v <= a.limit)) continue;  // beyond the border by more than a pixel: zero
    v = v < 0.0f ? 0.0f : v;
    const auto low = static_cast<std::int32_t>(v);
    if (low >= a.last) {
      visit(a.last, a.inverse);
    } else {
      const float fraction = v - static_cast<float>(low);
      visit(low, divide(1.0f - fraction));
      visit(low + 1, divide(fraction));
    }
  }
}

// A pixel that a bin reads, with the sum of its samples' weights.
struct Tap {
  std::int32_t index;  // of the source along this axis
  float weight;
};

// Writes the taps of bin b, ascending and each pixel once, to place(first pixel) and returns how many: at most two a
// sample, and at most two more than the pixels that the bin spans. place is called only where there is a tap. (In a RoI
// that is turned inside out samples descend, and a pixel may come twice.)
template <class Place>
TTT_HD inline int bin_taps(const RoiAxis& a, int b, const Place& place) {
  int n = 0;
  Tap* taps = nullptr;
  visit_samples(a, b, [&](std::int32_t pixel, float weight) {
    if (n == 0) taps = place(pixel);
    // Samples ascend, so only the last two can be equal.
    for (int back = 1; back <= 2 && back <= n; ++back)
      if (taps[n - back].index == pixel) {
        taps[n - back].weight += weight;
        return;
      }
    taps[n++] = {pixel, weight};
  });
  return n;
}

}  // namespace ttt::kernels
