#include "eval/mask_rcnn.h"
#include "measure/ablation.h"

namespace ttt::ablations {

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
      .convergence = {.seeds = 12}};
}

}  // namespace ttt::ablations
