#include "train/step.h"

namespace ttt::train {

std::array<at::Tensor, model::kLosses> EagerStep::forward_backward(const model::DeviceBatch& batch, const model::DrawKey& key,
                                                                   result::PhaseClock& clock) {
  clock.enter(result::Phase::kForward);
  const model::Losses losses = model_.training_losses(batch, key);
  const at::Tensor total = losses.total();
  clock.enter(result::Phase::kBackward);
  if (clear_.clear) clear_.clear();
  else model_.parameters().flat_gradients().zero_();
  total.backward();
  clock.enter(result::Phase::kOther);
  return losses.detached();
}

result::Json EagerStep::describe() const {
  return {{"kind", "eager"}, {"shapes", model_.config().shapes}, {"ops", model_.ops().name}, {"zero_grad", clear_.name}};
}

}  // namespace ttt::train
