#include <ATen/ops/arange.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/mm.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include "benchmarks/ablations/replaced_ops.h"

namespace ttt::ablations {
namespace {

// [classes, n] -> [M, n] float32: of each row's class. Picked by a product with ones and zeros, whose gradient is added
// in a fixed order. A GPU adds that of an index_select with atomics, and rows of one class meet in any order.
at::Tensor of_own_class(const at::Tensor& label, const at::Tensor& of_classes) {
  const c10::impl::ExcludeDispatchKeyGuard float32(c10::autocast_dispatch_keyset);
  const at::Tensor own = label.unsqueeze(1) == at::arange(of_classes.size(0), label.options());
  return own.to(at::kFloat).mm(of_classes);
}

// One operator after the other.
at::Tensor by_operators(const model::MaskPredictor& head, const at::Tensor& blocks, const at::Tensor& label) {
  const std::int64_t rows = blocks.size(0), pooled = blocks.size(1), channels = blocks.size(5);
  const at::Tensor y = (blocks + head.bias.to(blocks.scalar_type())).relu_().view({rows, -1, channels});
  const at::Tensor logits = at::bmm(y, of_own_class(label, head.weight).unsqueeze(-1)) +
                            of_own_class(label, head.weight_bias.unsqueeze(1)).unsqueeze(-1);
  return logits.to(at::kFloat)
      .view({rows, pooled, pooled, 2, 2})
      .permute({0, 1, 3, 2, 4})
      .reshape({rows, 2 * pooled, 2 * pooled});
}

}  // namespace

Ablation ablate_mask_predictor() {
  return {.name = "mask_predictor",
      .question = "What does it bring to compute the mask head's last layers in one pass?",
      .claim = "none known",
      .expectation =
          "Bias, ReLU and the product with a class's weights each read or write the largest activation of the head, "
          "28 x 28 pixels for each positive, and so do their gradients: about ten passes instead of three.",
      .promise = Promise::kClose,
      .rtol = 1e-3,  // sums over channels and pixels in another order, then two updates
      .variants = {{.name = "by operators",
                       .components = with_ops("mask_predictor", "the mask predictor by operators",
                           [](model::DetectionOps& ops) { ops.mask_logits = by_operators; })},
          {.name = "one pass"}}};
}

}  // namespace ttt::ablations
