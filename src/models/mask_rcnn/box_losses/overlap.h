// Boxes with gradient, and how they overlap.
#pragma once

#include "models/mask_rcnn/box_losses/box_loss.h"

namespace ttt::model {

// The predicted boxes: what kernels::decode_boxes computes, with gradient. Rows of weight 0 have deltas 0. [R, 4]
at::Tensor decoded(const BoxRows& rows);

// Of predicted and target boxes, each [R]. Boxes of no area are finite: eps is added as in torchvision.
struct Overlap {
  at::Tensor iou, joint;               // joint: area of the union
  at::Tensor hull_width, hull_height;  // of the smallest box around both
  at::Tensor dx, dy;                   // between the centres
  at::Tensor width, height, target_width, target_height;
};
inline constexpr double kOverlapEps = 1e-7;
Overlap overlap_of(const BoxRows& rows);

// 1 - IoU + (distance of the centres / diagonal of the hull)^2, [R].
at::Tensor distance_loss(const Overlap& o);

}  // namespace ttt::model
