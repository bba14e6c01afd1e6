#include "models/mask_rcnn/box_losses/overlap.h"

#include <ATen/ops/maximum.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>

namespace ttt::model {

at::Tensor decoded(const BoxRows& rows) {
  const kernels::BoxCoderParams& p = rows.coder;
  const double extra = p.legacy ? 1 : 0;
  const at::Tensor deltas = rows.deltas * rows.weight.unsqueeze(-1);
  const auto of = [](const at::Tensor& boxes, int i) { return boxes.select(-1, i); };
  const at::Tensor reference_width = of(rows.reference, 2) - of(rows.reference, 0) + extra,
                   reference_height = of(rows.reference, 3) - of(rows.reference, 1) + extra;
  const at::Tensor x = of(rows.reference, 0) + 0.5 * reference_width + of(deltas, 0) / p.wx * reference_width,
                   y = of(rows.reference, 1) + 0.5 * reference_height + of(deltas, 1) / p.wy * reference_height;
  const at::Tensor half_width = 0.5 * (of(deltas, 2) / p.ww).clamp_max(p.clamp).exp() * reference_width,
                   half_height = 0.5 * (of(deltas, 3) / p.wh).clamp_max(p.clamp).exp() * reference_height;
  return at::stack({x - half_width, y - half_height, x + half_width - extra, y + half_height - extra}, -1);
}

Overlap overlap_of(const BoxRows& rows) {
  const double extra = rows.coder.legacy ? 1 : 0;
  const at::Tensor boxes = decoded(rows);
  const auto box = [&](int i) { return boxes.select(-1, i); };
  const auto target = [&](int i) { return rows.target.select(-1, i); };
  Overlap o;
  o.width = box(2) - box(0) + extra, o.height = box(3) - box(1) + extra;
  o.target_width = target(2) - target(0) + extra, o.target_height = target(3) - target(1) + extra;
  const at::Tensor w = at::minimum(box(2), target(2)) - at::maximum(box(0), target(0)) + extra,
                   h = at::minimum(box(3), target(3)) - at::maximum(box(1), target(1)) + extra;
  // Disjoint boxes have two negative sides, or one: their product is no area.
  const at::Tensor both = at::where((w > 0) & (h > 0), w * h, w.new_zeros({}));
  o.joint = o.width * o.height + o.target_width * o.target_height - both;
  o.iou = both / (o.joint + kOverlapEps);
  o.hull_width = at::maximum(box(2), target(2)) - at::minimum(box(0), target(0)) + extra;
  o.hull_height = at::maximum(box(3), target(3)) - at::minimum(box(1), target(1)) + extra;
  o.dx = 0.5 * (box(0) + box(2) - target(0) - target(2)), o.dy = 0.5 * (box(1) + box(3) - target(1) - target(3));
  return o;
}

at::Tensor distance_loss(const Overlap& o) {
  const at::Tensor diagonal = o.hull_width * o.hull_width + o.hull_height * o.hull_height + kOverlapEps;
  return 1 - o.iou + (o.dx * o.dx + o.dy * o.dy) / diagonal;
}

}  // namespace ttt::model
