#include "eval/mask_rcnn.h"
#include "measure/ablation.h"

namespace ttt::ablations {

// A tenth of the target of the default recipe and images of three quarters of its side, so that several trainings of
// each variant take minutes.
Ablation ablate_initialisation() {
  const auto init = [](const char* name) {
    return Variant{
        .name = name, .change = [name](train::Recipe& r) { r.model.as<model::ModelConfig>().backbone.init = name; }};
  };
  return {.name = "initialisation",
      .question =
          "How many epochs does the initialisation of the backbone's convolutions cost or save on the way to a target?",
      .claim = "none known",
      .expectation =
          "Before a normalisation a convolution's scale does not change its output, but the smaller it is the further "
          "an update turns it: "
          "kaiming_uniform, a third to a half as large, learns faster from random weights.",
      .promise = Promise::kOtherWork,
      .variants = {init("kaiming_normal"), init("kaiming_uniform")},
      .convergence = {.seeds = 4, .change = [](train::Recipe& r) {
                        r.data.short_side = r.data.long_side = 96;
                        r.train.targets = eval::DetectionTargets{0.05, 0.04};
                        r.train.eval_every_epochs = 0.25, r.train.epochs = 4, r.train.max_steps = 0;
                        r.train.save_weights.clear();
                      }}};
}

}  // namespace ttt::ablations
