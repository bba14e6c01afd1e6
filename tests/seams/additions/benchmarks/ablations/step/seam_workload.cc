#include "measure/ablation.h"
#include "models/first_object/workload.h"

namespace ttt::ablations {
namespace {

void train_first_object(train::Recipe& r) {
  static const first_object::FirstObject workload;
  const train::Recipe own(workload);
  r.workload = own.workload, r.model = own.model, r.train.targets = own.train.targets;
}

}  // namespace

Ablation ablate_seam_workload() {
  return {.name = "seam_workload",
      .question = "What is a step of a workload that was added worth?",
      .claim = "none known",
      .expectation = "A far shorter step.",
      .promise = Promise::kOtherWork,
      .variants = {{.name = "the program's"}, {.name = "first object", .change = train_first_object}}};
}

}  // namespace ttt::ablations
