// Which pixels of a row or column of an image a pixel of its resized one is made of, and with which weights. Shared by
// the workers' resize (data/transform) and the device's (kernels), so that both give the same bits. Nothing here may be
// fused.
#pragma once

#include <cstdint>

#include "core/host_device.h"

namespace ttt {

// Bilinear with half-pixel centres and clamped borders, in float32, as torch's interpolate without antialias.
struct TwoTaps {
  std::int32_t at[2];  // equal at the border
  float weight[2];
};
TTT_HD inline TwoTaps two_taps(std::int32_t in, std::int32_t out, std::int32_t i) {
  const float scale = static_cast<float>(in) / static_cast<float>(out);
  const float centre = scale * (static_cast<float>(i) + 0.5f) - 0.5f, position = centre > 0.0f ? centre : 0.0f;
  const auto floor = static_cast<std::int32_t>(position), low = floor < in - 1 ? floor : in - 1;
  const float rest = position - static_cast<float>(low), high_weight = rest < 0.0f ? 0.0f : (rest > 1.0f ? 1.0f : rest);
  return {{low, low + 1 < in - 1 ? low + 1 : in - 1}, {1.0f - high_weight, high_weight}};
}

// PIL's bilinear (Resample.c): a triangle of half-width max(scale, 1) around the centre, normalised inside the image,
// in float64.
struct TriangleTaps {
  double centre, support, total;
  std::int32_t first, end;  // pixels
};
TTT_HD inline double triangle_height(const TriangleTaps& t, std::int32_t pixel) {
  const double x = (pixel - t.centre + 0.5) / t.support, height = 1.0 - (x < 0.0 ? -x : x);
  return height > 0.0 ? height : 0.0;
}
TTT_HD inline TriangleTaps triangle_taps(std::int32_t in, std::int32_t out, std::int32_t i) {
  TriangleTaps t{};
  const double scale = static_cast<double>(in) / out;
  t.support = scale > 1.0 ? scale : 1.0;
  t.centre = (i + 0.5) * scale;
  const auto first = static_cast<std::int32_t>(t.centre - t.support + 0.5),
             end = static_cast<std::int32_t>(t.centre + t.support + 0.5);
  t.first = first > 0 ? first : 0;
  t.end = end < in ? end : in;
  for (std::int32_t k = t.first; k < t.end; ++k) t.total += triangle_height(t, k);
  return t;
}
TTT_HD inline float triangle_weight(const TriangleTaps& t, std::int32_t pixel) {
  return static_cast<float>(triangle_height(t, pixel) / t.total);
}

}  // namespace ttt
