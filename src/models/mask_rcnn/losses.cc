#include "models/mask_rcnn/losses.h"

#include <ATen/core/Reduction.h>
#include <ATen/ops/binary_cross_entropy_with_logits.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/smooth_l1_loss.h>

namespace ttt::model {

at::Tensor Losses::total() const {
  at::Tensor sum = values[0];
  for (int i = 1; i < kLosses; ++i) sum = sum + values[i];
  return sum;
}

std::array<at::Tensor, kLosses> Losses::detached() const {
  std::array<at::Tensor, kLosses> out;
  for (int i = 0; i < kLosses; ++i) out[i] = values[i].detach();
  return out;
}

at::Tensor bce_sum(const at::Tensor& logits, const at::Tensor& target, const at::Tensor& weight) {
  return at::binary_cross_entropy_with_logits(logits, target, weight, {}, at::Reduction::Sum);
}

at::Tensor smooth_l1_sum(
    const at::Tensor& prediction, const at::Tensor& target, const at::Tensor& weight, double beta) {
  // Rows of weight 0 become 0 against 0. Targets are finite everywhere: encode_boxes is given real boxes for fillers
  // too.
  const at::Tensor w = weight.unsqueeze(-1);
  return at::smooth_l1_loss(prediction * w, target * w, at::Reduction::Sum, beta);
}

at::Tensor cross_entropy_sum(const at::Tensor& logits, const at::Tensor& label) {
  return at::cross_entropy_loss(logits, label, {}, at::Reduction::Sum, -100);
}

}  // namespace ttt::model
