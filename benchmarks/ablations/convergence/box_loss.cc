#include "eval/mask_rcnn.h"
#include "measure/ablation.h"

namespace ttt::ablations {

Ablation ablate_box_loss() {
  const auto loss = [](const char* name, double weight) {
    return Variant{.name = name, .change = [name, weight](train::Recipe& r) {
                     model::RoiConfig& roi = r.model.as<model::ModelConfig>().roi;
                     roi.box_loss = name, roi.box_loss_weight = weight;
                   }};
  };
  constexpr double kWeight = 10;  // of SageMakerCV, which averages over all sampled proposals, as here
  return {.name = "box_loss",
      .question = "How many steps does a loss of the boxes' overlap save against one of their deltas?",
      .claim = "GIoU: about 5 % more box and mask AP",
      .source = "AWS blog on SageMakerCV",
      .expectation = "Box AP at high IoU is what the loss is: it rises. Masks gain from better boxes only.",
      .promise = Promise::kOtherWork,
      .variants = {loss("smooth_l1", 1), loss("giou", kWeight), loss("diou", kWeight), loss("ciou", kWeight)},
      .convergence = {.seeds = 16}};
}

}  // namespace ttt::ablations
