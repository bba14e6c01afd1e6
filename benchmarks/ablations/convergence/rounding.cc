#include "measure/ablation.h"

namespace ttt::ablations {

Ablation ablate_rounding() {
  const auto rounding = [](const char* name) {
    return Variant{.name = name,
        .change = [name](train::Recipe& r) { r.train.optimizer.round_weights = r.train.optimizer.round_state = name; }};
  };
  Variant float32 = rounding("none");
  float32.name = "float32";
  return {.name = "rounding",
      .question = "What do weights and momentum of 16 bits cost, by how they are rounded?",
      .claim = "With rounding to even instead of towards zero the error rose from 25 to 99 %",
      .source = "Now anyone can train ImageNet in 18 minutes",
      .expectation =
          "Updates below half the last place are lost to the nearest; toward zero, weights shrink; by chance, nothing "
          "is lost in the mean.",
      .promise = Promise::kOtherWork,
      .variants = {float32, rounding("nearest"), rounding("toward_zero"), rounding("stochastic")},
      .convergence = {.seeds = 8}};
}

}  // namespace ttt::ablations
