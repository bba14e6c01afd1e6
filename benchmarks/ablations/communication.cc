#include "ablations/runner/ablation.h"

namespace ttt::ablations {

static Variant kind(const char* name) {
  return {.name = name, .change = [name](train::Recipe& r) { r.train.reducer.kind = name; }};
}

// The time that communication adds at most: the step without any. Its replicas drift apart, so nothing is promised.
Ablation ablate_communication() {
  return {.name = "communication",
          .question = "What does the step pay for communication in all?",
          .expectation = "Without a reduction the step is faster by the exposed communication.",
          .promise = Promise::kOtherWork,
          .variants = {kind("bucketed"), kind("none")},
          .unsupported = needs_ranks};
}

}  // namespace ttt::ablations
