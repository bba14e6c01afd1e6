#include "measure/ablation.h"

namespace ttt::ablations {

Ablation ablate_learning_rate() {
  const auto rate = [](const char* name, double factor) {
    return Variant{.name = name, .change = [factor](train::Recipe& r) { r.train.schedule.lr *= factor; }};
  };
  return {.name = "learning_rate",
      .question = "Is the recipe's learning rate the best of its neighbours?",
      .claim = "none known",
      .expectation = "Half and twice the rate need more steps to the same accuracy, if the recipe was tuned.",
      .promise = Promise::kOtherWork,
      .variants = {rate("the recipe's", 1), rate("half", 0.5), rate("twice", 2)},
      .convergence = {.seeds = 12}};
}

}  // namespace ttt::ablations
