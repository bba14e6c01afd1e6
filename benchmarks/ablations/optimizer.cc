#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/zeros_like.h>

#include "ablations/runner/ablation.h"
#include "core/error.h"

namespace ttt::ablations {
namespace {

// Per parameter, as torch.optim.SGD does it: with one call for a list of tensors (foreach) or one tensor at a time.
class TensorSgd final : public train::Optimizer {
 public:
  TensorSgd(model::ParameterStore& store, const train::OptimizerConfig& config, bool foreach) : config_(config), foreach_(foreach) {
    for (model::Parameter* p : store.trainable()) {
      values_.push_back(p->value.detach());
      gradients_.push_back(p->value.grad());
      momentum_.push_back(at::zeros_like(values_.back()));
    }
  }
  void step(double lr, double gradient_scale) override {
    at::NoGradGuard no_grad;
    if (foreach_) {
      at::_foreach_mul_(gradients_, gradient_scale);
      at::_foreach_add_(gradients_, values_, config_.weight_decay);
      at::_foreach_mul_(momentum_, config_.momentum);
      at::_foreach_add_(momentum_, gradients_, 1);
      at::_foreach_add_(values_, momentum_, -lr);
      return;
    }
    for (std::size_t i = 0; i < values_.size(); ++i) {
      gradients_[i].mul_(gradient_scale).add_(values_[i], config_.weight_decay);
      momentum_[i].mul_(config_.momentum).add_(gradients_[i]);
      values_[i].add_(momentum_[i], -lr);
    }
  }
  at::Tensor momentum() const override { throw NotSupported("TensorSgd keeps no flat momentum: it is one side of a comparison."); }
  result::Json describe() const override { return {{"kind", foreach_ ? "foreach_sgd" : "loop_sgd"}, {"tensors", values_.size()}}; }

 private:
  train::OptimizerConfig config_;
  bool foreach_;
  std::vector<at::Tensor> values_, gradients_, momentum_;
};

Variant tensor_sgd(const char* name, bool foreach) {
  return {.name = name, .rebuild = [foreach](Run& run) {
            run.parts.optimizer = std::make_unique<TensorSgd>(run.parts.model->parameters(), run.recipe.train.optimizer, foreach);
          }};
}

}  // namespace

Ablation ablate_optimizer() {
  return {.name = "optimizer",
          .question = "What is one fused pass over all weights worth?",
          .expectation = "Five passes over weights, gradients and momentum become one; on a small model it is the calls that count.",
          .promise = Promise::kClose,
          .rtol = 1e-4,  // another order of a few roundings per weight, grown over the gate's steps
          .variants = {{.name = "fused"}, tensor_sgd("foreach", true), tensor_sgd("loop", false)}};
}

}  // namespace ttt::ablations
