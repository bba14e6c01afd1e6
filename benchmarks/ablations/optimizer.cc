#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/zeros_like.h>

#include "ablations/runner/ablation.h"
#include "core/error.h"

namespace ttt::ablations {
namespace {

// Per parameter: with one call for a list of tensors (foreach) or one tensor at a time, four passes over memory.
class TensorSgd final : public train::Optimizer {
 public:
  TensorSgd(model::ParameterStore& store, const train::OptimizerConfig& config, bool foreach) : momentum_factor_(config.momentum), foreach_(foreach) {
    groups_[0] = {.lr_factor = 1, .decay = config.weight_decay};
    groups_[1] = {.lr_factor = config.bias_lr_factor, .decay = config.decay_bias ? config.weight_decay : 0};
    for (model::Parameter* p : store.trainable()) {
      Group& g = groups_[p->name.ends_with(".bias")];
      g.values.push_back(p->value.detach());
      g.gradients.push_back(p->value.grad());
      g.momentum.push_back(at::zeros_like(g.values.back()));
    }
  }
  void step(double lr, double gradient_scale) override {
    at::NoGradGuard no_grad;
    for (Group& g : groups_) {
      if (g.values.empty()) continue;
      if (foreach_) {
        at::_foreach_mul_(g.momentum, momentum_factor_);
        at::_foreach_add_(g.momentum, g.gradients, gradient_scale);
        if (g.decay > 0) at::_foreach_add_(g.momentum, g.values, g.decay);
        at::_foreach_add_(g.values, g.momentum, -lr * g.lr_factor);
        continue;
      }
      for (std::size_t i = 0; i < g.values.size(); ++i) {
        g.momentum[i].mul_(momentum_factor_).add_(g.gradients[i], gradient_scale);
        if (g.decay > 0) g.momentum[i].add_(g.values[i], g.decay);
        g.values[i].add_(g.momentum[i], -lr * g.lr_factor);
      }
    }
  }
  at::Tensor momentum() const override { throw NotSupported("TensorSgd keeps no flat momentum: it is one side of a comparison. Use the fused optimiser."); }
  result::Json describe() const override {
    return {{"kind", foreach_ ? "foreach_sgd" : "loop_sgd"}, {"tensors", groups_[0].values.size() + groups_[1].values.size()}};
  }

 private:
  struct Group {
    double lr_factor = 1, decay = 0;
    std::vector<at::Tensor> values, gradients, momentum;
  };
  double momentum_factor_;
  bool foreach_;
  std::array<Group, 2> groups_;  // weights, biases
};

Variant tensor_sgd(const char* name, bool foreach) {
  return {.name = name, .rebuild = [foreach](Run& run) {
            run.parts.optimizer = std::make_unique<TensorSgd>(run.parts.model->parameters(), run.recipe.train.optimizer, foreach);
          }, .replaces = {"optimizer"}};
}

}  // namespace

Ablation ablate_optimizer() {
  return {.name = "optimizer",
          .question = "What is one fused pass over all weights worth?",
          .expectation = "Four passes over weights, gradients and momentum become one; on a small model it is the calls that count.",
          .promise = Promise::kClose,
          .rtol = 1e-4,  // another order of a few roundings per weight, grown over the gate's steps
          .variants = {{.name = "fused"}, tensor_sgd("foreach", true), tensor_sgd("loop", false)}};
}

}  // namespace ttt::ablations
