// Mask targets from bitmaps, an object of half the image's size behind each positive RoI. Peer: RoIAlign of the bitmap as a feature map of one
// channel, which is what torchvision does.
// links: ttt_kernels_host
#include "bench.h"
#include "inputs.h"
#include "kernels/mask_targets/mask_targets.h"
#include "kernels/roi_align/roi_align.h"
#include "shapes.h"

namespace ttt::micro {
namespace {

constexpr int kSize = 28;

struct Case {
  explicit Case(const Detector& s)
      : shape(s), rois_n(s.images * s.positive_rois), h(static_cast<std::int32_t>(s.height / 2)), w(static_cast<std::int32_t>(s.width / 2)), bits(h * w),
        object(rois_n, 0), height(rois_n, static_cast<std::int32_t>(s.height)), width(rois_n, static_cast<std::int32_t>(s.width)),
        rois(random_boxes(8, rois_n, static_cast<double>(s.height), static_cast<double>(s.width), 30)), out(rois_n * kSize * kSize), theirs(out.size()),
        map(s.height * s.width) {
    const std::int32_t x0 = w / 2, y0 = h / 2;
    box = {x0, y0, w, h};
    for (std::int32_t i = 0; i < h * w; ++i) {
      bits[i] = (i % w + i / w) % 97 < 60;
      map[(y0 + i / w) * s.width + x0 + i % w] = bits[i];
    }
  }
  void ours() {
    const std::int64_t offset = 0;
    kernels::host::mask_targets_bitmap(
        {.rois = rois_n, .size = kSize},
        {bits.data(), &offset, box.data(), object.data(), rois.data(), height.data(), width.data()}, out.data());
  }
  void roi_align() {
    kernels::RoiAlignParams p;
    p.levels = 1, p.height[0] = shape.height, p.width[0] = shape.width, p.scale[0] = 1, p.images = 1, p.channels = 1, p.rois = rois_n, p.pooled = kSize,
    p.sampling_ratio = 0;
    const float* maps[] = {map.data()};
    kernels::host::roi_align_forward(p, maps, rois.data(), object.data(), theirs.data());
  }
  std::string disagreement() {
    ours(), roi_align();
    return difference<float>("mask_targets", out, theirs, 1e-4);
  }
  std::string label() const { return words("%lld RoIs, image of %lld x %lld", (long long)rois_n, (long long)shape.height, (long long)shape.width); }
  double items() const { return static_cast<double>(rois_n); }
  static constexpr const char* kItems = "RoIs/s";
  const Detector& shape;
  std::int64_t rois_n;
  std::int32_t h, w;
  std::vector<std::uint8_t> bits;
  std::vector<std::int32_t> object, height, width, box;
  Values rois, out, theirs, map;
};

const bool added = [] {
  for (const Detector& s : kDetectors) {
    add<Case>("mask_targets", s, "ours", &Case::ours);
    add<Case>("mask_targets", s, "roi_align", &Case::roi_align);
  }
  return true;
}();

}  // namespace
}  // namespace ttt::micro
