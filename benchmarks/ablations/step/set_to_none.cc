#include <ATen/ops/_foreach_zero.h>
#include <ATen/ops/zeros_like.h>

#include "measure/ablation.h"

namespace ttt::ablations {
namespace {

using Parameters = std::vector<const model::Parameter*>;

void set_to_zero(const Parameters& parameters) {
  std::vector<at::Tensor> gradients;
  for (const model::Parameter* p : parameters) gradients.push_back(p->value.grad());
  at::_foreach_zero_(gradients);
}

void set_to_none(const Parameters& parameters) {
  for (const model::Parameter* p : parameters) p->value.mutable_grad().reset();
}

// The usual arrangement, of which the advice "set gradients to none" speaks: each parameter has a gradient of its own,
// and a list of tensors is updated. (The suite's gradients are views of one allocation: there is nothing to free.)
Variant own_gradients(const char* name, void (*clear)(const Parameters&)) {
  const auto step = [name, clear](Run& run) {
    const std::vector<model::Parameter*> trainable = run.parts.model->parameters().trainable();
    const Parameters parameters(trainable.begin(), trainable.end());
    for (const model::Parameter* p : parameters) p->value.mutable_grad() = at::zeros_like(p->value);
    return std::make_unique<train::EagerStep>(*run.parts.model,
        train::ClearGradients{name, [clear, parameters] { clear(parameters); }}, run.parts.scaler.get(),
        run.recipe.train.accumulate);
  };
  const auto change = [](train::Recipe& r) {
    r.train.reducer.kind = "none";
    // Nor is there one norm of all to clip by, or an array to round.
    train::OptimizerConfig& optimizer = r.train.optimizer;
    optimizer.kind = "sgd", optimizer.implementation = "foreach", optimizer.clip_norm = 0;
    optimizer.round_gradients = "none";
  };
  return {.name = name,
      // Reducers need gradients in one allocation, where there is nothing to set to none.
      .change = change,
      .components = [step](Components& c) { c.step.replace("set_to_none", step); }};
}

}  // namespace

Ablation ablate_set_to_none() {
  return {.name = "set_to_none",
      .question =
          "Where every gradient is a tensor of its own: should it be set to zero, or given up, so that backward "
          "makes a new one?",
      .claim = "Gradients set to None need no memset, and backward writes instead of adding; no number.",
      .source = "NVIDIA Performance Tuning Guide talk, ECCV 2020",
      .expectation =
          "Without zeros to write and to add to, a pass over memory less for each; in exchange an allocation each.",
      .promise = Promise::kBitwise,  // x + 0 is x; every rank by itself, without a reduction
      .variants = {own_gradients("set to zero", set_to_zero), own_gradients("set to none", set_to_none)}};
}

}  // namespace ttt::ablations
