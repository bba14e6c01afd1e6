#include "measure/ablation.h"

namespace ttt::ablations {
namespace {

void use_own_gradients(Components& c) {
  c.ops.replace("feature_gradient", [](Run& run) {
    auto ops = std::make_unique<model::DetectionOps>(run.accelerator.ops);
    ops->name += ", a gradient of the features for each operation";
    ops->share = [](const std::array<at::Tensor, 5>& features) { return model::Features{.map = features}; };
    return ops;
  });
}

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
      .variants = {{.name = "each its own", .components = use_own_gradients}, {.name = "one for all"}}};
}

}  // namespace ttt::ablations
