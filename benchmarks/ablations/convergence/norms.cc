#include "benchmarks/ablations/batch.h"
#include "eval/mask_rcnn.h"
#include "measure/ablation.h"

namespace ttt::ablations {
namespace {

Variant norm(const char* kind) {
  return {.name = kind, .change = [kind](train::Recipe& r) {
            model::BackboneConfig& backbone = r.model.as<model::ModelConfig>().backbone;
            backbone.norm = kind;
            backbone.norm_groups = std::min(backbone.norm_groups, backbone.width);
          }};
}

}  // namespace

// Trainings are of the recipe's own batch: --set train.images_per_rank=1 trains at another. Statistics over ranks take
// trainings on all ranks: --set ablate.trainings=together.
Ablation ablate_norms() {
  return {.name = "norms",
      .question = "What do batch statistics cost and bring, where a rank has few images?",
      .claim = "Batch normalisation synchronised over ranks; no number.",
      .source = "NVIDIA Performance Tuning Guide talk, ECCV 2020",
      .expectation =
          "Of frozen scales nothing is computed. Statistics over one or two images are noisy, and over ranks less so, "
          "for two messages of each layer in each direction. Groups need no batch.",
      .promise = Promise::kOtherWork,
      .variants = {norm("frozen"), norm("batch"), norm("sync"), norm("group")},
      .settings = {images_a_rank(1), images_a_rank(2), images_a_rank(4)},
      .convergence = {.seeds = 8}};
}

}  // namespace ttt::ablations
