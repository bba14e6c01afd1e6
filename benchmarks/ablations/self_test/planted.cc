#include "measure/ablation.h"

namespace ttt::ablations {

// Both sides wait, so that what waiting does besides (a clock that is read, units that fall asleep) is on both. The
// variant's steps take 1.02 times the baseline's: 1.02 * 1.02 = 1.0404.
Ablation ablate_planted() {
  return {.name = "planted",
      .question = "Is a cost of 2 % found, while another process loads the machine for part of the time?",
      .claim = "none known",
      .expectation = "The interval excludes zero and covers 2 %.",
      .promise = Promise::kBitwise,
      .variants = {{.name = "A", .change = make_steps_small, .planted = 0.02},
          {.name = "A and 2 %", .change = make_steps_small, .planted = 0.0404}},
      .repetitions = 20,
      .built_alike = true,
      .under_load = true,
      .half_width = 0.01,  // half of what is to be found
      .limit_s = 120};     // on two cores of a busy host, 140 to 190 builds, which differ by 5 %
}

}  // namespace ttt::ablations
