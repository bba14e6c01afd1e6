#include "ablations/runner/ablation.h"

namespace ttt::ablations {

Ablation ablate_planted() {
  return {.name = "planted",
          .question = "Is a cost of 2 % found, while another process loads the machine for part of the time?",
          .expectation = "The interval excludes zero and covers 2 %.",
          .promise = Promise::kBitwise,
          .variants = {{.name = "A", .change = make_steps_small}, {.name = "A and 2 %", .change = make_steps_small, .planted = 0.02}},
          .repetitions = 20,
          .built_alike = true,
          .under_load = true,
          .half_width = 0.006};
}

}  // namespace ttt::ablations
