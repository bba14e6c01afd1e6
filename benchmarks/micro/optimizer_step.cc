// One update of a model's parameters by each optimizer. Ours is fused; foreach operators take a list of tensors at a
// call, and a loop one tensor. Peers are ATen's fused operators and torch::optim, where they have the optimizer.
// `stream` is what memory allows: w += c g over arrays of that size. Rates count the bytes that ours moves.
// links: ttt_run
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/_fused_sgd.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <torch/optim/adamw.h>
#include <torch/optim/sgd.h>

#include "bench.h"
#include "models.h"
#include "torch_peer.h"
#include "train/optimizers/optimizer.h"

namespace ttt::micro {
namespace {

constexpr double kLr = 1e-3, kMomentum = 0.9, kDecay = 1e-4, kBeta2 = 0.999, kEps = 1e-8;

struct Shape {
  std::string name;
  RecipeName recipe;
  std::string kind;
  int passes;  // arrays that the fused update reads or writes, each [parameters] float32
};
// Momentum: g, v, v, w, w. Adam: two arrays more, both ways. Norms read g and w, or g alone. LAMB writes its direction,
// takes its norm and the weights', and adds it.
const std::vector<Shape>& shapes() {
  static const std::vector<Shape> all = [] {
    std::vector<Shape> made;
    for (const RecipeName& r : kRecipes)
      for (const auto& [kind, passes] : {std::pair{"sgd", 5}, std::pair{"adamw", 7}, std::pair{"lars", 7},
               std::pair{"lamb", 12}, std::pair{"novograd", 6}, std::pair{"muon", 0}})
        made.push_back({std::string(r.name) + "/" + kind, r, kind, passes});
    return made;
  }();
  return all;
}

struct Case {
  explicit Case(const Shape& shape) : passes(shape.passes) {
    gradient = random_values(11, model_of(recipe_of(shape.recipe))->parameters().flat_gradients().numel(), -1e-3, 1e-3);
    for (const char* implementation : {"fused", "foreach", "loop"}) {
      if (shape.kind == "muon" && implementation == std::string("foreach")) {
        sides.emplace_back();
        continue;
      }
      Side& side = sides.emplace_back();
      side.model = model_of(recipe_of(shape.recipe));
      model::ParameterStore& store = side.model->parameters();
      store.flat_gradients().copy_(view(gradient, {store.flat_gradients().numel()}));
      side.optimizer = train::make_optimizer({.kind = shape.kind,
                                                 .implementation = implementation,
                                                 .momentum = kMomentum,
                                                 .beta2 = kBeta2,
                                                 .eps = kEps,
                                                 .weight_decay = kDecay},
          {.store = store});
    }
    if (shape.kind == "sgd" || shape.kind == "adamw") make_peers(shape.kind);
  }
  void make_peers(const std::string& kind) {
    std::vector<at::Tensor> leaves;
    for (const model::Parameter* p : sides[0].model->parameters().trainable()) {
      gradients.push_back(p->value.grad());
      values.push_back(p->value.detach().clone());
      first.push_back(at::zeros_like(values.back())), second.push_back(at::zeros_like(values.back()));
      steps.push_back(at::zeros({}));
      leaves.push_back(p->value.detach().clone().requires_grad_());
      leaves.back().mutable_grad() = p->value.grad();
    }
    if (kind == "sgd")
      torch = std::make_unique<torch::optim::SGD>(
          leaves, torch::optim::SGDOptions(kLr).momentum(kMomentum).weight_decay(kDecay));
    else
      torch =
          std::make_unique<torch::optim::AdamW>(leaves, torch::optim::AdamWOptions(kLr).weight_decay(kDecay).eps(kEps));
    is_sgd = kind == "sgd";
  }
  void step(std::size_t side) { sides[side].optimizer->step(train::rates_on_host(kLr, 1)); }
  void fused() { step(0); }
  void foreach () { step(1); }
  void loop() { step(2); }
  void aten_fused() {
    if (is_sgd) {
      at::_fused_sgd_(values, gradients, first, kDecay, kMomentum, kLr, /*dampening=*/0, /*nesterov=*/false,
          /*maximize=*/false, /*is_first_step=*/false);
      return;
    }
    for (at::Tensor& s : steps) s.add_(1);
    at::_fused_adamw_(values, gradients, first, second, /*max_exp_avg_sqs=*/{}, steps, kLr, kMomentum, kBeta2, kDecay,
        kEps, /*amsgrad=*/false, /*maximize=*/false);
  }
  void torch_optim() { torch->step(); }
  void stream() {
    model::ParameterStore& store = sides[0].model->parameters();
    const float* g = store.flat_gradients().const_data_ptr<float>();
    float* w = sides[0].model->parameters().flat_values().data_ptr<float>();
    for (std::int64_t i = 0, n = store.flat_values().numel(); i < n; ++i) w[i] += 1e-30f * g[i];
  }
  std::string disagreement() {
    for (int i = 0; i < 2; ++i) {  // the second step has a momentum
      for (std::size_t side = 0; side < sides.size(); ++side)
        if (sides[side].optimizer) step(side);
      if (torch) aten_fused(), torch_optim();
    }
    const auto& ours = sides[0].model->parameters().trainable();
    for (std::size_t i = 0; i < ours.size(); ++i) {
      std::vector<at::Tensor> others;
      for (std::size_t side = 1; side < sides.size(); ++side)
        if (sides[side].optimizer) others.push_back(sides[side].model->parameters().trainable()[i]->value.detach());
      if (torch) others.push_back(values[i]), others.push_back(torch->param_groups()[0].params()[i]);
      for (const at::Tensor& other : others)
        // Newton and Schulz amplify roundings: a matrix of small singular values is stretched a thousandfold.
        if (const double off = (ours[i]->value - other).abs().max().item<double>();
            !(off < (passes == 0 ? 1e-4 : 2e-6)))
          return words("optimizer_step: %s differs by %g", ours[i]->name.c_str(), off);
    }
    return "";
  }
  std::string label() const {
    const model::ParameterStore& store = sides[0].model->parameters();
    return words("%lld parameters in %zu tensors", (long long)store.trainable_count(), store.trainable().size());
  }
  double items() const {
    return 4.0 * std::max(1, passes) * static_cast<double>(sides[0].model->parameters().trainable_count());
  }
  static constexpr const char* kItems = "bytes/s";

  struct Side {
    std::unique_ptr<model::MaskRcnn> model;
    std::unique_ptr<train::Optimizer> optimizer;  // null: there is none
  };
  int passes;
  Values gradient;
  std::vector<Side> sides;
  bool is_sgd = false;
  std::vector<at::Tensor> values, gradients, first, second, steps;
  std::unique_ptr<torch::optim::Optimizer> torch;
};

// The same arrays, counted as three passes whatever the optimizer.
struct StreamCase : Case {
  explicit StreamCase(const Shape& shape) : Case(shape) { passes = 3; }
  void stream() { Case::stream(); }
};

const bool added = [] {
  for (const Shape& s : shapes()) {
    add<Case>("optimizer_step", s, "ours", &Case::fused);
    if (s.kind != "muon") add<Case>("optimizer_step", s, "foreach", &Case::foreach);
    add<Case>("optimizer_step", s, "loop", &Case::loop);
    if (s.kind == "sgd" || s.kind == "adamw") {
      add<Case>("optimizer_step", s, "aten_fused", &Case::aten_fused);
      add<Case>("optimizer_step", s, "torch_optim", &Case::torch_optim);
    }
    if (s.kind == "sgd") add<StreamCase>("optimizer_step", s, "stream", &StreamCase::stream);
  }
  return true;
}();

}  // namespace
}  // namespace ttt::micro
