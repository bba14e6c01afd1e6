#include "models/mask_rcnn/losses.h"

#include <ATen/core/Reduction.h>
#include <ATen/ops/binary_cross_entropy_with_logits.h>
#include <ATen/ops/cross_entropy_loss.h>

namespace ttt::model {

at::Tensor bce_sum(
    const at::Tensor& logits, const at::Tensor& target, const at::Tensor& weight, double label_smoothing) {
  const at::Tensor wanted = label_smoothing > 0 ? target * (1 - label_smoothing) + 0.5 * label_smoothing : target;
  return at::binary_cross_entropy_with_logits(logits, wanted, weight, {}, at::Reduction::Sum);
}

at::Tensor cross_entropy_sum(const at::Tensor& logits, const at::Tensor& label, double label_smoothing) {
  return at::cross_entropy_loss(logits, label, {}, at::Reduction::Sum, -100, label_smoothing);
}

}  // namespace ttt::model
