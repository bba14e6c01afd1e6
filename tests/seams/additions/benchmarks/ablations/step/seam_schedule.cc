#include "measure/ablation.h"

namespace ttt::ablations {

Ablation ablate_seam_schedule() {
  return {.name = "seam_schedule",
      .question = "Is a schedule that was added measured as every other one is?",
      .claim = "none known",
      .expectation = "A row with an interval.",
      .promise = Promise::kOtherWork,
      .variants = {{.name = "the recipe's"},
          {.name = "ramp", .change = [](train::Recipe& r) { r.train.schedule.kind = "ramp"; }}}};
}

}  // namespace ttt::ablations
