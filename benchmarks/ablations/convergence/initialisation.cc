#include "eval/mask_rcnn.h"
#include "measure/ablation.h"

namespace ttt::ablations {

namespace {

// Of a backbone from random weights, whatever the recipe starts from.
void train_from_random_weights(train::Recipe& r) {
  r.train.weights.clear(), r.train.weights_backbone.clear();
  if (r.train.pretraining.empty()) return;
  r.train.pretraining.clear();
  model::BackboneConfig& backbone = r.model.as<model::ModelConfig>().backbone;
  backbone.norm = "batch", backbone.freeze_at = 0;
  r.train.epochs *= 3, r.train.eval_every_epochs *= 3;  // it takes that much longer
}

}  // namespace

Ablation ablate_initialisation() {
  const auto init = [](const char* name) {
    return Variant{
        .name = name, .change = [name](train::Recipe& r) { r.model.as<model::ModelConfig>().backbone.init = name; }};
  };
  return {.name = "initialisation",
      .question =
          "How many steps does the initialisation of the backbone's convolutions cost or save on the way to a target?",
      .claim = "none known",
      .expectation =
          "Before a normalisation a convolution's scale does not change its output, but the smaller it is the further "
          "an update turns it: kaiming_uniform, a third to a half as large, learns faster from random weights.",
      .promise = Promise::kOtherWork,
      .variants = {init("kaiming_normal"), init("kaiming_uniform")},
      .convergence = {.seeds = 12, .change = train_from_random_weights}};
}

}  // namespace ttt::ablations
