#include "benchmarks/ablations/replaced_ops.h"

namespace ttt::ablations {
namespace {

model::Features as_they_are(const std::array<at::Tensor, 5>& features) { return {.map = features}; }

}  // namespace

Ablation ablate_feature_gradient() {
  return {.name = "feature_gradient",
      .question = "What does it bring that the heads add their gradients to one map instead of one each?",
      .claim = "none known",
      .expectation =
          "Three operations read the feature pyramid. Each would fill maps of its size with zeros, and autograd would "
          "add them up: eight passes over 92 MB for an image of 800 x 1344 pixels.",
      .promise = Promise::kClose,
      .rtol = 1e-3,  // sums in another order, then two updates
      .variants = {{.name = "each its own",
                       .components = with_ops("feature_gradient", "a gradient of the features for each operation",
                           [](model::DetectionOps& ops) { ops.share = as_they_are; })},
          {.name = "one for all"}}};
}

}  // namespace ttt::ablations
