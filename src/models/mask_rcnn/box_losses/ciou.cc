#include <ATen/ops/atan.h>

#include <numbers>

#include "models/mask_rcnn/box_losses/overlap.h"

namespace ttt::model {

// Zheng et al. 2020, "Distance-IoU Loss", equations 8 to 11; alpha has no gradient.
at::Tensor ciou_sum(const BoxRows& rows) {
  const Overlap o = overlap_of(rows);
  const at::Tensor angle = at::atan(o.target_width / o.target_height) - at::atan(o.width / o.height);
  const at::Tensor v = 4 / (std::numbers::pi * std::numbers::pi) * angle * angle;
  const at::Tensor alpha = (v / (1 - o.iou + v + kOverlapEps)).detach();
  return ((distance_loss(o) + alpha * v) * rows.weight).sum();
}

}  // namespace ttt::model
