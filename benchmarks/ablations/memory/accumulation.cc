#include "benchmarks/ablations/batch.h"
#include "measure/ablation.h"

namespace ttt::ablations {

Ablation ablate_accumulation() {
  const auto parts = [](const char* name, std::int64_t count) {
    return Variant{.name = name, .change = [count](train::Recipe& r) { r.train.accumulate = count; }};
  };
  return {.name = "accumulation",
      .question = "What does it cost to take a batch in parts, so that a large one fits in memory?",
      .claim = "NovoGrad trains at batches up to 512, which one device takes in parts; no number.",
      .source = "AWS blog on SageMakerCV",
      .expectation =
          "The same products in smaller pieces: a little slower each, and of activations only one part's are kept.",
      .promise = Promise::kOtherWork,  // losses are means over each part's samples
      .variants = {parts("whole", 1), parts("2 parts", 2), parts("4 parts", 4)},
      .settings = {images_a_rank(8)}};
}

}  // namespace ttt::ablations
