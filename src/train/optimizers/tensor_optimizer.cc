#include "train/optimizers/tensor_optimizer.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include "core/error.h"
#include "train/optimizers/gradient_scale.h"
#include "train/optimizers/update_pieces.h"

namespace ttt::train {
namespace {

class TensorOptimizer final : public Optimizer {
 public:
  TensorOptimizer(const OptimizerConfig& config, const OptimizerInputs& in, TensorRule rule)
      : config_(config), rule_(std::move(rule)), scale_(config, in.store, model::or_host(in.kernels), nullptr) {
    const model::ParameterStore& store = in.store;
    for (const std::string& name : rule_.state) state_.push_back({name, at::zeros_like(store.flat_values())});
    const auto options = store.flat_values().options();
    if (!rule_.number.empty()) state_.push_back({rule_.number, at::zeros({std::ssize(store.trainable())}, options)});
    if (rule_.counts)
      state_.push_back({"updates", at::zeros({1}, at::kFloat), /*is_count=*/true});  // the host's, which reads it
    const std::vector<UpdateRange> ranges = update_ranges(store, config, Grouping::kPerParameter);
    for (std::size_t i = 0; i < ranges.size(); ++i) add(*store.trainable()[i], ranges[i]);
  }

  void step(const Rates& rates) override {
    const at::NoGradGuard no_grad;
    const std::int64_t number = rule_.counts ? state_.back().value.add_(1).item<std::int64_t>() : 0;
    const bool as_they_are = rates.gradient_scale == 1 && config_.clip_norm == 0;
    const at::Tensor scale = as_they_are ? at::Tensor() : scale_.of(rates).squeeze(0);
    for (Group& g : groups_) {
      TensorUpdate& u = g.update;
      u.gradients.clear();
      for (const model::Parameter* p : g.parameters) u.gradients.push_back(p->value.grad());
      if (!as_they_are) u.gradients = at::_foreach_mul(u.gradients, scale);
      u.lr = rates.lr * g.lr_factor, u.number_of_update = number;
      rule_.update(u);
    }
  }
  std::string not_capturable() const override { return "its learning rate is a number of the host"; }
  std::vector<NamedTensor> state() const override { return state_; }
  result::Json describe() const override {
    return {{"kind", config_.implementation + "_" + config_.kind}, {"lists", groups_.size()},
        {"clip_norm", config_.clip_norm}};
  }

 private:
  struct Group {  // a list
    double lr_factor = 1;
    std::vector<const model::Parameter*> parameters;
    TensorUpdate update;
  };

  // To the list of its rate and decay, or to one of its own.
  void add(const model::Parameter& p, const UpdateRange& r) {
    Group* group = nullptr;
    for (Group& g : groups_)
      if (config_.implementation == "foreach" && g.lr_factor == r.lr_factor && g.update.weight_decay == r.weight_decay)
        group = &g;
    if (!group) {
      group = &groups_.emplace_back();
      group->lr_factor = r.lr_factor, group->update.weight_decay = r.weight_decay;
      group->update.state.resize(rule_.state.size());
    }
    group->parameters.push_back(&p);
    group->update.values.push_back(p.value.detach());
    for (std::size_t i = 0; i < rule_.state.size(); ++i)
      group->update.state[i].push_back(model::ParameterStore::view_of(state_[i].value, p));
    if (!rule_.number.empty()) group->update.numbers.push_back(state_[rule_.state.size()].value.narrow(0, r.group, 1));
  }

  OptimizerConfig config_;
  TensorRule rule_;
  GradientScale scale_;
  std::vector<NamedTensor> state_;
  std::vector<Group> groups_;
};

}  // namespace

std::unique_ptr<Optimizer> make_tensor_optimizer(
    const OptimizerConfig& config, const OptimizerInputs& in, TensorRule rule) {
  if (in.scaler)
    throw UsageError("train.optimizer.implementation = \"" + config.implementation +
                     "\" does not take gradients of a scaled loss. Use \"fused\", or another model.precision.");
  return std::make_unique<TensorOptimizer>(config, in, std::move(rule));
}

}  // namespace ttt::train
