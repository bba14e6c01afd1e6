#include "benchmarks/ablations/step/tensor_sgd.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/zeros_like.h>

#include "core/error.h"

namespace ttt::ablations {

TensorSgd::TensorSgd(model::ParameterStore& store, const train::OptimizerConfig& config, Calls calls) : momentum_factor_(config.momentum), calls_(calls) {
  groups_[0] = {.lr_factor = 1, .decay = config.weight_decay};
  groups_[1] = {.lr_factor = config.bias_lr_factor, .decay = config.decay_bias ? config.weight_decay : 0};
  for (const model::Parameter* p : store.trainable()) {
    Group& g = groups_[p->name.ends_with(".bias")];
    g.parameters.push_back(p);
    g.values.push_back(p->value.detach());
    g.momentum.push_back(at::zeros_like(g.values.back()));
  }
}

void TensorSgd::step(const train::Rates& rates) {
  at::NoGradGuard no_grad;
  for (Group& g : groups_) {
    if (g.parameters.empty()) continue;
    if (calls_ == Calls::kForeach) step_foreach(g, rates.lr, rates.gradient_scale);
    else step_loop(g, rates.lr, rates.gradient_scale);
  }
}

void TensorSgd::step_foreach(Group& g, double lr, double gradient_scale) const {
  std::vector<at::Tensor> gradients;
  for (const model::Parameter* p : g.parameters) gradients.push_back(p->value.grad());
  at::_foreach_mul_(g.momentum, momentum_factor_);
  at::_foreach_add_(g.momentum, gradients, gradient_scale);
  if (g.decay > 0) at::_foreach_add_(g.momentum, g.values, g.decay);
  at::_foreach_add_(g.values, g.momentum, -lr * g.lr_factor);
}

void TensorSgd::step_loop(Group& g, double lr, double gradient_scale) const {
  for (std::size_t i = 0; i < g.values.size(); ++i) {
    g.momentum[i].mul_(momentum_factor_).add_(g.parameters[i]->value.grad(), gradient_scale);
    if (g.decay > 0) g.momentum[i].add_(g.values[i], g.decay);
    g.values[i].add_(g.momentum[i], -lr * g.lr_factor);
  }
}

std::vector<train::NamedTensor> TensorSgd::state() const {
  throw NotSupported("TensorSgd keeps a momentum for each parameter, which cannot be saved. Leave out checkpoints, or use the optimizer sgd.");
}

result::Json TensorSgd::describe() const {
  return {{"kind", calls_ == Calls::kForeach ? "foreach_sgd" : "loop_sgd"}, {"tensors", groups_[0].values.size() + groups_[1].values.size()}};
}

}  // namespace ttt::ablations
