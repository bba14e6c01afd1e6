#include "measure/ablation.h"

namespace ttt::ablations {

Ablation ablate_null() {
  return {.name = "null",
      .question = "How often is a difference reported where there is none?",
      .claim = "none known",
      .expectation = "A against A: an interval of 95 % misses zero in one of twenty measurements at most.",
      .promise = Promise::kBitwise,
      .variants = {{.name = "A", .change = make_steps_small}, {.name = "A again", .change = make_steps_small}},
      .repetitions = 40,
      .built_alike = true,
      .half_width = 0.01,
      .limit_s = 30};
}

}  // namespace ttt::ablations
