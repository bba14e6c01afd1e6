#include "eval/mask_rcnn.h"
#include "measure/ablation.h"

namespace ttt::ablations {

Ablation ablate_box_weights() {
  const auto weights = [](const char* name, std::vector<double> values) {
    return Variant{.name = name,
        .change = [values](train::Recipe& r) { r.model.as<model::ModelConfig>().roi.box_weights = values; }};
  };
  return {.name = "box_weights",
      .question = "What does it cost masks, and gain boxes, that errors of boxes weigh twice?",
      .claim = "20, 20, 10, 10 instead of 10, 10, 5, 5 trades mask AP for box AP; with a cosine 3,000 fewer steps",
      .source = "AWS blog on SageMakerCV, CUDA Graphs and Debugger",
      .expectation = "Box AP rises. Mask AP falls, if the two heads compete for the backbone.",
      .promise = Promise::kOtherWork,
      .variants = {weights("10_10_5_5", {10, 10, 5, 5}), weights("20_20_10_10", {20, 20, 10, 10})},
      .convergence = {.seeds = 12}};
}

}  // namespace ttt::ablations
