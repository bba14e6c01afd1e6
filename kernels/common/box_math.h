// Arithmetic of one box, shared by the kernels and their reference implementations. float32 in the order of
// torchvision's tensor expressions: without exp and log the bits equal torchvision's. exp and log are computed here,
// because libraries differ in the last place.
//
// A box is x1, y1, x2, y2. `extra` is 0 (continuous coordinates) or 1 (legacy: a box covers x2 - x1 + 1 pixels).
#pragma once

#include <cmath>
#include <cstdint>

#include "core/host_device.h"
#include "kernels/box_coder/box_coder.h"
#include "kernels/common/bits.h"

namespace ttt::kernels {

TTT_HD inline float box_area(const float* b, float extra) { return (b[2] - b[0] + extra) * (b[3] - b[1] + extra); }

// Not std::min/max: CUDA code must not call host functions. The second operand wins on NaN.
TTT_HD inline float lower(float a, float b) { return a < b ? a : b; }
TTT_HD inline float upper(float a, float b) { return a > b ? a : b; }

// 0 where the union is empty or a coordinate is NaN (torchvision has NaN there, which would win every maximum).
TTT_HD inline float box_iou(const float* a, const float* b, float extra) {
  const float w = upper(lower(a[2], b[2]) - upper(a[0], b[0]) + extra, 0.0f);
  const float h = upper(lower(a[3], b[3]) - upper(a[1], b[1]) + extra, 0.0f);
  const float inter = w * h;
  const float iou = inter / (box_area(a, extra) + box_area(b, extra) - inter);
  return iou > 0.0f ? iou : 0.0f;
}

// inter / union > threshold: whether greedy NMS drops `box` beside `kept`. A product rules out nearly all pairs before
// the division; its slack of 1e-6 is above the rounding of both (3 x 2^-24).
TTT_HD inline bool suppresses(const float* kept, const float* box, float threshold, float extra) {
  const float w = upper(lower(kept[2], box[2]) - upper(kept[0], box[0]) + extra, 0.0f);
  const float h = upper(lower(kept[3], box[3]) - upper(kept[1], box[1]) + extra, 0.0f);
  const float inter = w * h, whole = box_area(kept, extra) + box_area(box, extra) - inter;
  return inter > threshold * (1.0f - 1e-6f) * whole && inter / whole > threshold;
}

// e^x and the natural logarithm, within a unit in the last place (tests/kernels; e^x below e^-86: 0). Reduced to
// [-ln 2 / 2, ln 2 / 2] and [sqrt(1/2), sqrt(2)) by Cody and Waite's ln 2 in two terms, then the minimax polynomials of
// Cephes (Moshier 1989, expf and logf). Products and sums alone, each rounded: a fused one is a function call on
// processors that may lack it.
TTT_HD inline float exp_of(float x) {
  if (!(x > -86.0f)) return x != x ? x : 0.0f;
  if (x > 88.722839f) return HUGE_VALF;
  constexpr float kToInteger = 12582912.0f;  // 1.5 * 2^23: what is added to it is rounded to an integer
  const float n = (x * 1.44269504f + kToInteger) - kToInteger;
  const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  float y = 1.9875691500e-4f;
  y = y * r + 1.3981999507e-3f;
  y = y * r + 8.3334519073e-3f;
  y = y * r + 4.1665795894e-2f;
  y = y * r + 1.6666665459e-1f;
  y = y * r + 5.0000001201e-1f;
  y = (y * (r * r) + r) + 1.0f;
  return y * float_of(static_cast<std::uint32_t>(static_cast<std::int32_t>(n) + 126) << 23) *
         2.0f;  // 2^128 is no float32
}
TTT_HD inline float log_of(float x) {
  if (!(x > 0.0f) || x == HUGE_VALF) return x == 0.0f ? -HUGE_VALF : (x > 0.0f ? x : NAN);
  const bool normal = x >= 1.17549435e-38f;
  const std::uint32_t bits = bits_of(normal ? x : x * 8388608.0f);
  // x = m * 2^e with m's bits from sqrt(1/2)'s up to those of the double of it: no branch, which data would mispredict
  constexpr std::uint32_t kRootHalf = 0x3F3504F3u;
  const std::int32_t e = (static_cast<std::int32_t>(bits - kRootHalf) >> 23) - (normal ? 0 : 23);
  const float m = float_of(((bits - kRootHalf) & 0x7FFFFFu) + kRootHalf);
  const float f = m - 1.0f, n = static_cast<float>(e), f2 = f * f;
  float y = 7.0376836292e-2f;
  y = y * f - 1.1514610310e-1f;
  y = y * f + 1.1676998740e-1f;
  y = y * f - 1.2420140846e-1f;
  y = y * f + 1.4249322787e-1f;
  y = y * f - 1.6668057665e-1f;
  y = y * f + 2.0000714765e-1f;
  y = y * f - 2.4999993993e-1f;
  y = y * f + 3.3333331174e-1f;
  y = y * f * f2 - n * 2.12194440e-4f;
  return (f + (y - 0.5f * f2)) + n * 0.693359375f;
}

// Reference box -> the deltas that move it onto gt (Girshick 2015, eq. 6-9).
TTT_HD inline void encode_box(const BoxCoderParams& p, const float* gt, const float* reference, float* delta) {
  const float extra = p.legacy ? 1.0f : 0.0f;
  const float rw = reference[2] - reference[0] + extra, rh = reference[3] - reference[1] + extra;
  const float rx = reference[0] + 0.5f * rw, ry = reference[1] + 0.5f * rh;
  const float gw = gt[2] - gt[0] + extra, gh = gt[3] - gt[1] + extra;
  const float gx = gt[0] + 0.5f * gw, gy = gt[1] + 0.5f * gh;
  delta[0] = p.wx * (gx - rx) / rw;
  delta[1] = p.wy * (gy - ry) / rh;
  delta[2] = p.ww * log_of(gw / rw);
  delta[3] = p.wh * log_of(gh / rh);
}

// The inverse; dw and dh are cut at p.clamp before exp. Legacy: the far corner is one pixel less (it is included).
TTT_HD inline void decode_box(const BoxCoderParams& p, const float* delta, const float* reference, float* box) {
  const float extra = p.legacy ? 1.0f : 0.0f;
  const float rw = reference[2] - reference[0] + extra, rh = reference[3] - reference[1] + extra;
  const float rx = reference[0] + 0.5f * rw, ry = reference[1] + 0.5f * rh;
  float dw = delta[2] / p.ww, dh = delta[3] / p.wh;
  dw = dw > p.clamp ? p.clamp : dw;  // a NaN stays NaN, and the box is dropped by its size later
  dh = dh > p.clamp ? p.clamp : dh;
  const float cx = delta[0] / p.wx * rw + rx, cy = delta[1] / p.wy * rh + ry;
  const float w = exp_of(dw) * rw, h = exp_of(dh) * rh;
  box[0] = cx - 0.5f * w;
  box[1] = cy - 0.5f * h;
  box[2] = cx + 0.5f * w - extra;
  box[3] = cy + 0.5f * h - extra;
}

TTT_HD inline float clip(float v, float hi) { return v < 0.0f ? 0.0f : (v > hi ? hi : v); }

// Into the image: [0, width] x [0, height], legacy [0, width - 1] x [0, height - 1].
TTT_HD inline void clip_box(float* b, float height, float width, float extra) {
  b[0] = clip(b[0], width - extra);
  b[1] = clip(b[1], height - extra);
  b[2] = clip(b[2], width - extra);
  b[3] = clip(b[3], height - extra);
}

// Both sides at least min_size; false for NaN.
TTT_HD inline bool box_is_large(const float* b, float min_size, float extra) {
  return b[2] - b[0] + extra >= min_size && b[3] - b[1] + extra >= min_size;
}

}  // namespace ttt::kernels
