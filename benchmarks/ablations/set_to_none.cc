#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_zero.h>
#include <ATen/ops/zeros_like.h>

#include "ablations/runner/ablation.h"
#include "core/error.h"

namespace ttt::ablations {
namespace {

// The usual arrangement, of which the advice "set gradients to none" speaks: each parameter has a gradient of its own, and a list of tensors is
// updated. (The suite's gradients are views of one allocation: there is nothing to free.)
std::vector<at::Tensor> trainable(model::MaskRcnn& model) {
  std::vector<at::Tensor> out;
  for (const model::Parameter* p : model.parameters().trainable()) out.push_back(p->value);
  return out;
}

class OwnGradientsStep final : public train::Step {
 public:
  OwnGradientsStep(model::MaskRcnn& model, bool none) : model_(model), values_(trainable(model)), none_(none) {
    for (at::Tensor& v : values_) v.mutable_grad() = at::zeros_like(v);
  }
  std::array<at::Tensor, model::kLosses> forward_backward(const model::DeviceBatch& batch, const model::DrawKey& key, result::PhaseClock& clock) override {
    clock.enter(result::Phase::kForward);
    const model::Losses losses = model_.training_losses(batch, key);
    const at::Tensor total = losses.total();
    clock.enter(result::Phase::kBackward);
    if (none_) {
      for (at::Tensor& v : values_) v.mutable_grad().reset();
    } else {
      std::vector<at::Tensor> gradients;
      for (const at::Tensor& v : values_) gradients.push_back(v.grad());
      at::_foreach_zero_(gradients);
    }
    total.backward();
    clock.enter(result::Phase::kOther);
    std::array<at::Tensor, model::kLosses> out;
    for (int i = 0; i < model::kLosses; ++i) out[i] = losses.values[i].detach();
    return out;
  }
  result::Json describe() const override { return {{"kind", "eager"}, {"gradients", "one allocation each"}, {"zero_grad", none_ ? "none" : "foreach"}}; }

 private:
  model::MaskRcnn& model_;
  std::vector<at::Tensor> values_;
  bool none_;
};

class OwnGradientsSgd final : public train::Optimizer {
 public:
  OwnGradientsSgd(model::MaskRcnn& model, const train::OptimizerConfig& config) : values_(trainable(model)), config_(config) {
    for (at::Tensor& v : values_) v = v.detach(), momentum_.push_back(at::zeros_like(v));
    live_ = trainable(model);
  }
  void step(double lr, double gradient_scale) override {
    at::NoGradGuard no_grad;
    std::vector<at::Tensor> gradients;
    for (const at::Tensor& v : live_) gradients.push_back(v.grad());
    at::_foreach_mul_(momentum_, config_.momentum);
    at::_foreach_add_(momentum_, gradients, gradient_scale);
    if (config_.weight_decay > 0) at::_foreach_add_(momentum_, values_, config_.weight_decay);
    at::_foreach_add_(values_, momentum_, -lr);
  }
  at::Tensor momentum() const override { throw NotSupported("OwnGradientsSgd keeps no flat momentum: it is one side of a comparison. Use the fused optimiser."); }
  result::Json describe() const override { return {{"kind", "foreach_sgd"}, {"tensors", values_.size()}}; }

 private:
  std::vector<at::Tensor> values_, live_, momentum_;
  train::OptimizerConfig config_;
};

Variant variant(const char* name, bool none) {
  return {.name = name,
          .change = [](train::Recipe& r) {
            r.train.optimizer.bias_lr_factor = 1, r.train.optimizer.decay_bias = true;
            r.train.reducer.kind = "none";  // reducers need gradients in one allocation, where there is nothing to set to none
          },
          .rebuild = [none](Run& run) {
            run.parts.step = std::make_unique<OwnGradientsStep>(*run.parts.model, none);
            run.parts.optimizer = std::make_unique<OwnGradientsSgd>(*run.parts.model, run.recipe.train.optimizer);
          },
          .replaces = {"step", "optimizer"}};
}

}  // namespace

Ablation ablate_set_to_none() {
  return {.name = "set_to_none",
          .question = "Where every gradient is a tensor of its own: should it be set to zero, or given up, so that backward makes a new one?",
          .expectation = "Without zeros to write and to add to, a pass over memory less for each; in exchange an allocation each.",
          .promise = Promise::kBitwise,  // x + 0 is x; every rank by itself, without a reduction
          .variants = {variant("set to zero", false), variant("set to none", true)}};
}

}  // namespace ttt::ablations
