#include "measure/ablation.h"
#include "models/mask_rcnn/config.h"

namespace ttt::ablations {

Ablation ablate_seam_box_loss() {
  return {.name = "seam_box_loss",
      .question = "Is a box loss that was added measured as every other one is?",
      .claim = "none known",
      .expectation = "A row with an interval.",
      .promise = Promise::kOtherWork,
      .variants = {{.name = "the recipe's"}, {.name = "absolute", .change = [](train::Recipe& r) {
                                                r.model.as<model::ModelConfig>().roi.box_loss = "absolute";
                                              }}}};
}

}  // namespace ttt::ablations
