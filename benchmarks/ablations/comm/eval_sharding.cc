#include "measure/operation_arm.h"

namespace ttt::ablations {
namespace {

// One evaluation of a model with its initial weights, images and matching of AP included.
class Evaluation {
 public:
  Evaluation(const Bench& bench, bool sharded)
      : run_(assemble(bench.recipe, components_of(bench.recipe), bench.world.team(), bench.context)), control_(bench.world.communicator()), alone_(comm::make_single()), sharded_(sharded) {
    if (sharded) return;
    const train::Recipe& r = run_.recipe;
    run_.parts.evaluator = std::make_unique<eval::Evaluator>(
        *run_.eval_images, eval::EvaluatorConfig{.data = r.data, .batch = r.train.eval_batch, .legacy_boxes = r.model.legacy_boxes}, *alone_, run_.pool->threads(),
        at::Device(r.device));
  }
  void step() {
    if (sharded_ || control_->rank() == 0) ap_ = run_.parts.evaluator->evaluate(*run_.parts.model);
    control_->broadcast(&ap_, sizeof ap_, 0);
  }
  std::vector<double> outputs() const {
    std::vector<double> out(ap_.bbox.begin(), ap_.bbox.end());
    out.insert(out.end(), ap_.segm.begin(), ap_.segm.end());
    return out;
  }

 private:
  Run run_;
  std::unique_ptr<comm::Communicator> control_, alone_;
  bool sharded_;
  eval::AveragePrecision ap_;
};

Variant variant(const char* name, bool sharded) {
  return {.name = name, .arm = [name, sharded](const Bench& bench) -> std::unique_ptr<Arm> {
            const auto evaluation = std::make_shared<Evaluation>(bench, sharded);
            return std::make_unique<OperationArm>(bench, Operation{.description = {{"evaluation", name}}, .run = [evaluation](std::int64_t) { evaluation->step(); },
                                                                   .outputs = [evaluation] { return evaluation->outputs(); }});
          }};
}

}  // namespace

Ablation ablate_eval_sharding() {
  return {.name = "eval_sharding",
          .question = "What is it worth that every rank predicts its share of the evaluation images, instead of one rank all?",
          .claim = "none known",
          .expectation = "Prediction is divided by the ranks; matching and accumulation stay on rank 0. A step of this row is a whole evaluation.",
          .promise = Promise::kBitwise,  // AP does not depend on who predicted
          .variants = {variant("on one rank", false), variant("sharded", true)},
          .half_width = 0.03,
          .block_steps = 1,
          .unsupported = needs_ranks};
}

}  // namespace ttt::ablations
