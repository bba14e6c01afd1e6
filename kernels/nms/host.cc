#include <limits>

#include "core/error.h"
#include "kernels/nms/nms.h"

#define TTT_SIMD_BODY "kernels/nms/host_simd.inc"
#include "kernels/common/simd_variants.inc"

namespace ttt::kernels::host {
namespace {

constexpr std::int64_t kPadding = 16;  // the widest vector

}  // namespace

KeptBoxes::KeptBoxes(std::int64_t capacity)
    : x1(capacity + kPadding), y1(x1.size()), x2(x1.size()), y2(x1.size()), area(x1.size()) {
  size = capacity;
  clear();
}

void KeptBoxes::clear() {
  for (std::int64_t i = 0; i < size + kPadding && i < static_cast<std::int64_t>(x1.size()); ++i) {
    x1[i] = y1[i] = std::numeric_limits<float>::max();
    x2[i] = y2[i] = std::numeric_limits<float>::lowest();
    area[i] = 1.0f;
  }
  size = 0;
}

void KeptBoxes::add(const float* box, float extra) {
  x1[size] = box[0], y1[size] = box[1], x2[size] = box[2], y2[size] = box[3];
  area[size] = (box[2] - box[0] + extra) * (box[3] - box[1] + extra);
  ++size;
}

OverlapsLoop overlaps_loop(Isa isa) { return TTT_PICK(isa, overlaps); }

std::int64_t greedy_nms(std::int64_t n, const float* boxes, const Suppression& s, std::int64_t most, KeptBoxes& kept,
                        std::int32_t* keep) {
  const OverlapsLoop overlaps = overlaps_loop(best_isa());
  kept.clear();
  for (std::int64_t i = 0; i < n && kept.size < most; ++i) {
    if (overlaps(s, kept, boxes + 4 * i)) continue;
    keep[kept.size] = static_cast<std::int32_t>(i);
    kept.add(boxes + 4 * i, s.extra);
  }
  return kept.size;
}

std::int64_t nms(std::int64_t n, const float* boxes, float threshold, bool legacy, std::int32_t* keep) {
  if (!(threshold >= 0.0f)) throw UsageError("NMS wants a threshold of at least 0. Correct the threshold.");
  KeptBoxes kept(n);
  return greedy_nms(n, boxes, {threshold, legacy ? 1.0f : 0.0f}, n, kept, keep);
}

}  // namespace ttt::kernels::host
