#include "measure/ablation.h"

namespace ttt::ablations {

static Variant reducer_kind(const char* name) {
  return {.name = name, .change = [name](train::Recipe& r) { r.train.reducer.kind = name; }};
}

Ablation ablate_reducer() {
  return {.name = "reducer",
      .question = "What is it worth to send gradients while other work goes on?",
      .claim =
          "An asynchronous all-reduce beside the fetch of the next batch saves about 5 % of a step; "
          "overlap with backward is very significant.",
      .source = "AWS blog on SageMakerCV, CUDA Graphs and Debugger; NVIDIA Performance Tuning Guide talk, ECCV 2020",
      .expectation =
          "flat_async hides behind the fetch of the next batch, bucketed behind backward as well. On CPUs that "
          "backward keeps busy, "
          "the sending itself takes their time, so little is hidden.",
      .promise = Promise::kBitwise,  // sums are taken in rank order whatever the buckets
      .variants = {reducer_kind("blocking"), reducer_kind("flat_async"), reducer_kind("bucketed")},
      .unsupported = needs_ranks};
}

}  // namespace ttt::ablations
