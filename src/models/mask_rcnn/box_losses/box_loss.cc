#include "models/mask_rcnn/box_losses/box_loss.h"

#include "core/error.h"

namespace ttt::model {

at::Tensor box_loss_sum(const std::string& kind, double weight, const BoxRows& rows) {
  const auto weighted = [weight](const at::Tensor& sum) { return weight == 1 ? sum : sum * weight; };
#define TTT_SUM(name, doc) \
  if (kind == #name) return weighted(name##_sum(rows));
  TTT_BOX_LOSSES(TTT_SUM)
#undef TTT_SUM
  throw UsageError("box_loss = \"" + kind + "\": there is no such loss of boxes.");
}

}  // namespace ttt::model
