#include "measure/ablation.h"

namespace ttt::ablations {

// One variant: its trainings differ by their seeds alone. Evaluated early, so that the line to the target is long.
Ablation ablate_repeats() {
  return {.name = "repeats",
      .question = "What does a recipe reach, and how far apart are its trainings?",
      .claim = "none known",
      .expectation = "The median of twenty trainings is the recipe's target (results/targets).",
      .promise = Promise::kOtherWork,
      .variants = {{.name = "the recipe"}},
      .convergence = {.seeds = 20, .evaluated_from = 0.3}};
}

}  // namespace ttt::ablations
