#include "eval/coco/match.h"

#include <algorithm>

#include "eval/coco/iou.h"

namespace ttt::eval::coco {
namespace {

// Bit a: the area is outside range a.
unsigned outside_of(double area) {
  unsigned bits = 0;
  for (int a = 0; a < kAreas; ++a) bits |= (area < kAreaRanges[a][0] || area > kAreaRanges[a][1] ? 1u : 0u) << a;
  return bits;
}

std::uint64_t spread(unsigned areas) {
  std::uint64_t bits = 0;
  for (int a = 0; a < kAreas; ++a) bits |= (areas >> a & 1 ? kThresholdBits : 0) << (a * kThresholds);
  return bits;
}

}  // namespace

void Matcher::find_candidates(const DetectionView& d, std::span<const Object> objects, IouType type) {
  candidates_.clear();
  const MaskSummary summary = type == IouType::kSegm ? summarise(d.mask) : MaskSummary{};
  for (std::size_t g = 0; g < objects.size(); ++g) {
    const Object& o = objects[g];
    const double iou = type == IouType::kBbox ? box_iou(d.bbox, o.bbox, o.crowd) : mask_iou(d.mask, summary, o);
    if (!(iou >= kIouThresholds[0])) continue;
    std::uint64_t reached = 0;
    for (int t = 0; t < kThresholds; ++t) reached |= static_cast<std::uint64_t>(iou >= kIouThresholds[t]) << t;
    candidates_.push_back({iou, g, reached});
  }
  std::sort(candidates_.begin(), candidates_.end(),
      [](const Candidate& a, const Candidate& b) { return a.iou != b.iou ? a.iou > b.iou : a.object > b.object; });
}

Match Matcher::choose(std::span<const Object> objects, unsigned outside) {
  Match out{0, 0, false};
  for (int a = 0; a < kAreas; ++a) {
    std::uint64_t found = 0, counts = 0, ignored = 0;
    for (const unsigned pass : {0u, 1u}) {  // objects that count, then ignored ones
      for (const Candidate& c : candidates_) {
        const Object& o = objects[c.object];
        if ((o.ignored >> a & 1u) != pass) continue;
        std::uint64_t free = c.reached & ~found;
        if (!o.crowd) free &= ~(taken_[c.object] >> (a * kThresholds));
        found |= free;
        taken_[c.object] |= free << (a * kThresholds);
        if (pass) ignored |= free;
        if (!o.has_id_zero) counts |= free;
      }
    }
    if (outside >> a & 1) ignored |= ~counts & kThresholdBits;
    out.matched |= counts << (a * kThresholds);
    out.ignored |= ignored << (a * kThresholds);
  }
  return out;
}

void Matcher::match(
    std::span<const DetectionView* const> detections, std::span<const Object> objects, IouType type, Match* out) {
  taken_.assign(objects.size(), 0);
  for (const DetectionView* d : detections) {
    const unsigned outside = outside_of(d->area[static_cast<int>(type)]);
    if (!objects.empty()) find_candidates(*d, objects, type);
    *out++ = objects.empty() || candidates_.empty() ? Match{0, spread(outside), true} : choose(objects, outside);
  }
}

}  // namespace ttt::eval::coco
