#include "eval/coco/iou.h"

#include <algorithm>

namespace ttt::eval::coco {
namespace {

// Object pixels that both masks have. Both fill the image, so the sweep ends where the first of them has no more.
std::uint64_t intersection(const ttt::coco::RleView& a, const ttt::coco::RleView& b) {
  const std::uint32_t *pa = a.counts.data(), *pb = b.counts.data();
  const std::uint32_t* const end_a = pa + a.counts.size() / 2 * 2;
  const std::uint32_t* const end_b = pb + b.counts.size() / 2 * 2;
  std::uint64_t sum = 0;
  // [a0, a1) and [b0, b1): the current object run of each.
  std::int64_t a1 = 0, a0 = 0, b1 = 0, b0 = 0;
  const auto next_a = [&] { return pa == end_a ? false : (a0 = a1 + pa[0], a1 = a0 + pa[1], pa += 2, true); };
  const auto next_b = [&] { return pb == end_b ? false : (b0 = b1 + pb[0], b1 = b0 + pb[1], pb += 2, true); };
  if (!next_a() || !next_b()) return 0;
  for (;;) {
    sum += std::max<std::int64_t>(0, std::min(a1, b1) - std::max(a0, b0));
    if (a1 <= b1 ? !next_a() : !next_b()) return sum;
  }
}

}  // namespace

double box_iou(const std::array<double, 4>& d, const std::array<double, 4>& g, bool crowd) {
  const double w = std::min(d[2] + d[0], g[2] + g[0]) - std::max(d[0], g[0]);
  if (w <= 0) return 0;
  const double h = std::min(d[3] + d[1], g[3] + g[1]) - std::max(d[1], g[1]);
  if (h <= 0) return 0;
  const double i = w * h, area = d[2] * d[3];
  const double u = crowd ? area : area + g[2] * g[3] - i;
  return i / u;
}

double mask_iou(const ttt::coco::RleView& detection, const MaskSummary& summary, const Object& object) {
  const MaskSummary& other = object.summary;
  if (detection.height != object.mask.height || detection.width != object.mask.width) return 0;
  if (summary.begin >= other.end || other.begin >= summary.end) return 0;
  // i / u >= 0.5 needs 3 i >= area + area (2 i >= area against a crowd), and i is at most the smaller area.
  const std::uint64_t most = std::min(summary.area, other.area);
  if (object.crowd ? 2 * most < summary.area : 3 * most < summary.area + other.area) return 0;
  const std::uint64_t i = intersection(detection, object.mask);
  if (i == 0) return 0;
  const std::uint64_t u = object.crowd ? summary.area : summary.area + other.area - i;
  return static_cast<double>(i) / static_cast<double>(u);
}

}  // namespace ttt::eval::coco
