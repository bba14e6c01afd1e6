#include "models/mask_rcnn/losses.h"

#include <ATen/core/Reduction.h>
#include <ATen/ops/binary_cross_entropy_with_logits.h>
#include <ATen/ops/cross_entropy_loss.h>

namespace ttt::model {

at::Tensor bce_sum(const at::Tensor& logits, const at::Tensor& target, const at::Tensor& weight) {
  return at::binary_cross_entropy_with_logits(logits, target, weight, {}, at::Reduction::Sum);
}

at::Tensor cross_entropy_sum(const at::Tensor& logits, const at::Tensor& label) {
  return at::cross_entropy_loss(logits, label, {}, at::Reduction::Sum, -100);
}

}  // namespace ttt::model
