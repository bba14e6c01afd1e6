#include "ablations/runner/ablation.h"

namespace ttt::ablations {

static Variant kind(const char* name) {
  return {.name = name, .change = [name](train::Recipe& r) { r.train.reducer.kind = name; }};
}

// Without a reduction the replicas drift apart, so nothing is promised.
Ablation ablate_communication() {
  return {.name = "communication",
          .question = "What does the step pay for communication: how much of it is exposed, by reducer?",
          .expectation = "A step against the same step without any reduction: the difference is the exposed communication. Most with blocking, least "
                         "with bucketed where a core or a network adapter is free to send.",
          .promise = Promise::kOtherWork,
          .variants = {kind("none"), kind("blocking"), kind("flat_async"), kind("bucketed")},
          .unsupported = needs_ranks};
}

}  // namespace ttt::ablations
