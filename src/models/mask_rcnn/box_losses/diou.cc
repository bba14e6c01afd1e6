#include "models/mask_rcnn/box_losses/overlap.h"

namespace ttt::model {

// Zheng et al. 2020, "Distance-IoU Loss", equation 7.
at::Tensor diou_sum(const BoxRows& rows) { return (distance_loss(overlap_of(rows)) * rows.weight).sum(); }

}  // namespace ttt::model
