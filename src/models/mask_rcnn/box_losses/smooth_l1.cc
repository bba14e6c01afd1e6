#include <ATen/core/Reduction.h>
#include <ATen/ops/smooth_l1_loss.h>

#include "models/mask_rcnn/box_losses/box_loss.h"

namespace ttt::model {

// Girshick 2015, equation 3, with torch's `beta`.
at::Tensor smooth_l1_sum(const BoxRows& rows) {
  const at::Tensor w = rows.weight.unsqueeze(-1);  // rows of weight 0 become 0 against 0
  return at::smooth_l1_loss(rows.deltas * w, rows.target_deltas * w, at::Reduction::Sum, rows.beta);
}

}  // namespace ttt::model
