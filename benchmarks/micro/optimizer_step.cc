// One step of SGD with momentum over a model's parameters. Peers: ATen's fused operator and its foreach operators (one call for a list of tensors; four passes over
// memory), and torch::optim::SGD (one tensor at a time).
// links: ttt_run
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_fused_sgd.h>
#include <ATen/ops/zeros_like.h>
#include <torch/optim/sgd.h>

#include "bench.h"
#include "models.h"
#include "torch_peer.h"
#include "train/optimizers/sgd.h"

namespace ttt::micro {
namespace {

constexpr double kLr = 1e-3, kMomentum = 0.9, kDecay = 1e-4;

struct Case {
  explicit Case(const RecipeName& which) : model(model_of(recipe_of(which))), store(model->parameters()), fused(store, {.momentum = kMomentum, .weight_decay = kDecay}) {
    const Values g = random_values(11, store.flat_gradients().numel(), -1e-3, 1e-3);
    std::vector<at::Tensor> leaves;
    for (const model::Parameter* p : store.trainable()) {
      p->value.grad().copy_(view(g, {store.flat_gradients().numel()}).slice(0, p->offset, p->offset + p->count).view(p->value.sizes()));
      gradients.push_back(p->value.grad());
      values.push_back(p->value.detach().clone());
      momentum.push_back(at::zeros_like(values.back()));
      fused_values.push_back(values.back().clone()), fused_momentum.push_back(at::zeros_like(values.back()));
      leaves.push_back(p->value.detach().clone().requires_grad_());
      leaves.back().mutable_grad() = p->value.grad();
    }
    torch_sgd = std::make_unique<torch::optim::SGD>(leaves, torch::optim::SGDOptions(kLr).momentum(kMomentum).weight_decay(kDecay));
  }
  void ours() { fused.step(train::rates_on_host(kLr, 1)); }
  void foreach() {
    const at::NoGradGuard no_grad;
    at::_foreach_mul_(momentum, kMomentum);
    at::_foreach_add_(momentum, gradients, 1);
    at::_foreach_add_(momentum, values, kDecay);
    at::_foreach_add_(values, momentum, -kLr);
  }
  void fused_aten() {
    at::_fused_sgd_(fused_values, gradients, fused_momentum, kDecay, kMomentum, kLr, /*dampening=*/0, /*nesterov=*/false, /*maximize=*/false, /*is_first_step=*/false);
  }
  void torch_optim() { torch_sgd->step(); }
  std::string disagreement() {
    for (int i = 0; i < 2; ++i) ours(), foreach(), fused_aten(), torch_optim();  // the second step has a momentum
    const auto& leaves = torch_sgd->param_groups()[0].params();
    std::size_t i = 0;
    for (const model::Parameter* p : store.trainable()) {
      for (const at::Tensor& peer : {values[i], fused_values[i], leaves[i]})
        if (const double off = (p->value - peer).abs().max().item<double>(); !(off < 1e-6)) return words("optimizer_step: %s differs by %g", p->name.c_str(), off);
      ++i;
    }
    return "";
  }
  std::string label() const { return words("%lld parameters in %zu tensors", (long long)store.trainable_count(), values.size()); }
  double items() const { return static_cast<double>(store.trainable_count()); }
  static constexpr const char* kItems = "parameters/s";
  std::unique_ptr<model::MaskRcnn> model;
  model::ParameterStore& store;
  train::FusedSgd fused;
  std::vector<at::Tensor> values, gradients, momentum, fused_values, fused_momentum;
  std::unique_ptr<torch::optim::SGD> torch_sgd;
};

const bool added = [] {
  for (const RecipeName& r : kRecipes) {
    add<Case>("optimizer_step", r, "ours", &Case::ours);
    add<Case>("optimizer_step", r, "aten_fused", &Case::fused_aten);
    add<Case>("optimizer_step", r, "aten_foreach", &Case::foreach);
    add<Case>("optimizer_step", r, "torch_optim_sgd", &Case::torch_optim);
  }
  return true;
}();

}  // namespace
}  // namespace ttt::micro
