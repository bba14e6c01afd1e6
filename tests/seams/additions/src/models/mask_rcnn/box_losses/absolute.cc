// The sum of absolute differences.
#include "models/mask_rcnn/box_losses/box_loss.h"

namespace ttt::model {

at::Tensor absolute_sum(const BoxRows& rows) {
  return ((rows.deltas - rows.target_deltas).abs() * rows.weight.unsqueeze(-1)).sum();
}

}  // namespace ttt::model
