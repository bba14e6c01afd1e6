#include "benchmarks/ablations/replaced_ops.h"
#include "models/ops/dense_outputs.h"

namespace ttt::ablations {
namespace {

// The classical head: computed for every anchor with a gradient, of which the loss then takes the sampled ones.
at::Tensor of_all(const model::AnchorHead& head, const model::Features&, const at::Tensor& all, const at::Tensor& index,
    const at::Tensor&) {
  const at::Tensor pixel = index.floor_divide(head.kinds).to(at::kLong).unsqueeze(-1);
  return all.gather(1, pixel.expand({-1, -1, all.size(2)}));
}

void use_dense_gradient(model::DetectionOps& ops) {
  ops.all_outputs = [bias_relu = ops.bias_relu](const auto& head, const auto& features) {
    return model::dense_outputs(
        head, features, [&](const at::Tensor& x, const at::Tensor& bias) { return bias_relu(x, bias, {}, true); });
  };
  ops.chosen_outputs = of_all;
}

}  // namespace

Ablation ablate_rpn_gradient() {
  return {.name = "rpn_gradient",
      .question = "What does it bring to compute the RPN's gradient for the sampled anchors alone?",
      .claim = "none known",
      .expectation =
          "The loss is of 256 of some 200,000 anchors, and the gradient of all others is zero. The classical step "
          "computes it all the same: a seventh of the step's operations at 800 x 1344 pixels.",
      .promise = Promise::kClose,
      .rtol = 1e-3,  // a product instead of a convolution: sums in another order, then two updates
      .variants = {
          {.name = "every anchor",
              .components = with_ops("rpn_gradient", "the RPN's gradient for every anchor", use_dense_gradient)},
          {.name = "sampled anchors"}}};
}

}  // namespace ttt::ablations
