#include "measure/ablation.h"
#include "models/mask_rcnn/config.h"

namespace ttt::ablations {

static Variant kind(const char* name) {
  // Fixed shapes: with others, the work follows how well the model is trained, and without a reduction that differs.
  return {.name = name, .change = [name](train::Recipe& r) {
            r.train.reducer.kind = name, r.model.as<model::ModelConfig>().shapes = "static";
          }};
}

// Without a reduction the replicas drift apart, so nothing is promised.
Ablation ablate_communication() {
  return {.name = "communication",
      .question = "What does the step pay for communication: how much of it is exposed, by reducer?",
      .claim = "The synchronous all-reduce at the end can take a significant part of a step; no number.",
      .source = "AWS blog on SageMakerCV, CUDA Graphs and Debugger",
      .expectation =
          "A step against the same step without any reduction: the difference is the exposed communication, "
          "waiting for a late rank included. Most with blocking, least "
          "with bucketed where a core or a network adapter is free to send.",
      .promise = Promise::kOtherWork,
      .variants = {kind("none"), kind("blocking"), kind("flat_async"), kind("bucketed")},
      .unsupported = needs_ranks};
}

}  // namespace ttt::ablations
