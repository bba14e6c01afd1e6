#include "measure/ablation.h"

namespace ttt::ablations {

Ablation ablate_seam_optimizer() {
  return {.name = "seam_optimizer",
      .question = "Is a optimizer that was added measured as every other one is?",
      .claim = "none known",
      .expectation = "A row with an interval.",
      .promise = Promise::kOtherWork,
      .variants = {{.name = "the recipe's"},
          {.name = "two_moments", .change = [](train::Recipe& r) { r.train.optimizer.kind = "two_moments"; }}}};
}

}  // namespace ttt::ablations
