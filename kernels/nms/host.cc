#include "kernels/nms/host.h"

#include "core/error.h"
#include "kernels/common/host.h"

namespace ttt::kernels::host {

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
