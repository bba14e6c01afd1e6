#include "measure/ablation.h"
#include "benchmarks/ablations/step/tensor_sgd.h"

namespace ttt::ablations {
namespace {

Variant tensor_sgd(const char* name, TensorSgd::Calls calls) {
  const auto make = [calls](Run& run) { return std::make_unique<TensorSgd>(run.parts.model->parameters(), run.recipe.train.optimizer, calls); };
  return {.name = name, .components = [make](Components& c) { c.optimizer.replace("optimizer", make); }};
}

}  // namespace

Ablation ablate_optimizer() {
  return {.name = "optimizer",
          .question = "What is one fused pass over all weights worth?",
          .claim = "Fused optimizers are much faster; no number.",
          .source = "NVIDIA Performance Tuning Guide talk, ECCV 2020",
          .expectation = "Four passes over weights, gradients and momentum become one; on a small model it is the calls that count.",
          .promise = Promise::kClose,
          .rtol = 1e-4,  // another order of a few roundings per weight, grown over the gate's steps
          .variants = {{.name = "fused"}, tensor_sgd("foreach", TensorSgd::Calls::kForeach), tensor_sgd("loop", TensorSgd::Calls::kLoop)}};
}

}  // namespace ttt::ablations
