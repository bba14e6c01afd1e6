#include "measure/ablation.h"

namespace ttt::ablations {

Ablation ablate_seam_reducer() {
  return {.name = "seam_reducer",
      .question = "Is a reducer that was added measured as every other one is?",
      .claim = "none known",
      .expectation = "A row with an interval.",
      .promise = Promise::kOtherWork,
      .variants = {{.name = "the recipe's"},
          {.name = "halves", .change = [](train::Recipe& r) { r.train.reducer.kind = "halves"; }}}};
}

}  // namespace ttt::ablations
