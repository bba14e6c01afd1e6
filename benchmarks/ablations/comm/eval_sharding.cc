#include "measure/operation_arm.h"

namespace ttt::ablations {
namespace {

// One evaluation of a model with its initial weights, images and matching of AP included.
class Evaluation {
 public:
  Evaluation(const Bench& bench, bool sharded)
      : run_(assemble(bench.recipe, components_of(bench.recipe), bench.world.team(), bench.context)),
        control_(bench.world.communicator()), alone_(comm::make_single()), sharded_(sharded) {
    const eval::EvaluationInputs in = run_.evaluation_inputs();
    if (!sharded)
      run_.parts.evaluator = run_.recipe.workload->make_evaluator({.model = in.model,
          .images = in.images,
          .data = in.data,
          .batch = in.batch,
          .comm = *alone_,
          .threads = in.threads,
          .device = in.device,
          .memory = in.memory});
  }
  void step() {
    result::Metrics metrics;
    if (sharded_ || control_->rank() == 0) metrics = run_.parts.evaluator->evaluate();
    std::size_t count = metrics.size();
    control_->broadcast(&count, sizeof count, 0);
    values_.resize(count);
    for (std::size_t i = 0; i < metrics.size(); ++i) values_[i] = metrics[i].value;
    control_->broadcast(values_.data(), count * sizeof(double), 0);
  }
  const std::vector<double>& outputs() const { return values_; }

 private:
  Run run_;
  std::unique_ptr<comm::Communicator> control_, alone_;
  bool sharded_;
  std::vector<double> values_;
};

Variant variant(const char* name, bool sharded) {
  return {.name = name, .arm = [name, sharded](const Bench& bench) -> std::unique_ptr<Arm> {
            const auto evaluation = std::make_shared<Evaluation>(bench, sharded);
            return std::make_unique<OperationArm>(
                bench, Operation{.description = {{"evaluation", name}},
                           .run = [evaluation](std::int64_t) { evaluation->step(); },
                           .outputs = [evaluation] { return evaluation->outputs(); }});
          }};
}

}  // namespace

Ablation ablate_eval_sharding() {
  return {.name = "eval_sharding",
      .question =
          "What is it worth that every rank predicts its share of the evaluation images, instead of one rank all?",
      .claim = "none known",
      .expectation =
          "Prediction is divided by the ranks; matching and accumulation stay on rank 0. A step of this row is a "
          "whole evaluation.",
      .promise = Promise::kBitwise,  // AP does not depend on who predicted
      .variants = {variant("on one rank", false), variant("sharded", true)},
      .half_width = 0.03,
      .block_steps = 1,
      .unsupported = needs_ranks};
}

}  // namespace ttt::ablations
