// Pasting of a detection's 28 x 28 probabilities onto its box. Peer: ATen's bilinear interpolation of each padded mask and the threshold, as torchvision has
// it, into the bitmap of the box alone.
// links: ttt_kernels_host torch::cpu
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/upsample_bilinear2d.h>

#include "bench.h"
#include "kernels/paste/paste.h"
#include "shapes.h"
#include "torch_peer.h"

namespace ttt::micro {
namespace {

constexpr int kSize = 28;

struct Case {
  explicit Case(const Detector& s)
      : shape(s), mask(random_values(9, kSize * kSize, 0, 1)), boxes(random_boxes(10, s.detections, static_cast<double>(s.height), static_cast<double>(s.width), 16)),
        bits(s.height * s.width) {}
  void ours() {
    pixels = 0;
    for (std::int64_t i = 0; i < shape.detections; ++i) {
      kernels::host::paste_mask(kSize, mask.data(), boxes.data() + 4 * i, shape.height, shape.width, touched, bits.data(), std::ssize(bits));
      pixels += std::int64_t{touched[2]} * touched[3];
      for (std::int64_t k = 0; k < std::int64_t{touched[2]} * touched[3] && keep; ++k) ours_bits.push_back(bits[k]);
    }
  }
  void aten() {
    const at::Tensor padded = at::constant_pad_nd(view(mask, {1, 1, kSize, kSize}), {1, 1, 1, 1});
    const double grow = static_cast<double>(kSize + 2) / kSize;
    for (std::int64_t i = 0; i < shape.detections; ++i) {
      const float* b = boxes.data() + 4 * i;
      const double cx = (b[0] + b[2]) * 0.5, cy = (b[1] + b[3]) * 0.5, half_w = (b[2] - b[0]) * 0.5 * grow, half_h = (b[3] - b[1]) * 0.5 * grow;
      const auto x0 = static_cast<std::int64_t>(cx - half_w), y0 = static_cast<std::int64_t>(cy - half_h), x1 = static_cast<std::int64_t>(cx + half_w),
                 y1 = static_cast<std::int64_t>(cy + half_h);
      const std::int64_t w = std::max<std::int64_t>(x1 - x0 + 1, 1), h = std::max<std::int64_t>(y1 - y0 + 1, 1);
      const at::Tensor inside = at::upsample_bilinear2d(padded, {h, w}, /*align_corners=*/false)[0][0].slice(0, std::max<std::int64_t>(-y0, 0), std::min(h, shape.height - y0))
                                    .slice(1, std::max<std::int64_t>(-x0, 0), std::min(w, shape.width - x0));
      const at::Tensor set = (inside > 0.5).contiguous();
      benchmark::DoNotOptimize(set.const_data_ptr());
      if (keep) theirs_bits.insert(theirs_bits.end(), set.const_data_ptr<bool>(), set.const_data_ptr<bool>() + set.numel());
    }
  }
  std::string disagreement() {
    keep = true;
    ours(), aten();
    keep = false;
    return difference<std::uint8_t>("paste", ours_bits, theirs_bits, 0, 1e-4);  // a value at the threshold may fall to either side
  }
  std::string label() const { return words("%lld masks of %.0f pixels on average", (long long)shape.detections, static_cast<double>(pixels) / static_cast<double>(shape.detections)); }
  double items() const { return static_cast<double>(shape.detections); }
  static constexpr const char* kItems = "masks/s";
  const Detector& shape;
  Values mask, boxes;
  std::vector<std::uint8_t> bits, ours_bits, theirs_bits;
  std::int32_t touched[4];
  std::int64_t pixels = 0;
  bool keep = false;
};

const bool added = [] {
  for (const Detector& s : kDetectors) {
    add<Case>("paste_mask", s, "ours", &Case::ours);
    add<Case>("paste_mask", s, "aten", &Case::aten);
  }
  return true;
}();

}  // namespace
}  // namespace ttt::micro
