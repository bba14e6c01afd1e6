#include "models/mask_rcnn/box_losses/overlap.h"

namespace ttt::model {

// Rezatofighi et al. 2019, "Generalized Intersection over Union", algorithm 1: between 0 and 2.
at::Tensor giou_sum(const BoxRows& rows) {
  const Overlap o = overlap_of(rows);
  const at::Tensor hull = o.hull_width * o.hull_height;
  return ((1 - o.iou + (hull - o.joint) / (hull + kOverlapEps)) * rows.weight).sum();
}

}  // namespace ttt::model
