// LAMB (You et al. 2020): Adam's direction with weight decay, scaled for each parameter by its norm over the
// direction's. NVLAMB (NVIDIA 2019) scales parameters that are not decayed too, and first scales all gradients to a
// norm of 1 where theirs is larger.
#include <ATen/ops/empty_like.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/stack.h>

#include "train/optimizers/adam.h"
#include "train/optimizers/parameter_norms.h"
#include "train/optimizers/sgd.h"
#include "train/optimizers/tensor_optimizer.h"

namespace ttt::train {
namespace {

std::vector<UpdateRange> without_decay(std::vector<UpdateRange> ranges) {
  for (UpdateRange& r : ranges) r.weight_decay = 0;
  return ranges;
}

class FusedLamb final : public FusedOptimizer {
 public:
  FusedLamb(const OptimizerConfig& config, const OptimizerInputs& in, bool adapt_all)
      : FusedOptimizer(config, in, Grouping::kPerParameter), state_(in.store), direction_(at::empty_like(state_.first)),
        moments_(adam_pieces(ranges_, in.store, state_, direction_)),
        steps_(sgd_pieces(without_decay(ranges_), direction_, {}, in.store.flat_values())),
        norms_(ranges_, kernels_, direction_.device()), one_(at::ones({1}, direction_.options())),
        adapted_(adapted_parameters(ranges_, adapt_all, direction_.device())) {
    direction_.zero_();  // also behind parameters
  }
  std::vector<NamedTensor> state() const override { return state_.tensors(); }

 private:
  void update(const Update& u) override {
    run_adam(state_.updates, moments_, u);
    const auto [direction, weight] = norms_.of(direction_, store_.flat_values());
    const at::Tensor ratio = trust_ratio(weight, direction, adapted_).to(at::kFloat);
    const at::Tensor factors = at::stack({ratio, at::ones_like(ratio)}, 1);
    kernels_.sgd({.momentum = 0}, steps_.data(), steps_.count(), steps_.largest(),
        {.lr = u.lr_pointer(),
            .grad_scale = one_.const_data_ptr<float>(),
            .skip = u.skip(),
            .factors = factors_of(factors)});
  }

  AdamState state_;
  at::Tensor direction_;  // [T] float32, scratch
  PieceTable<kernels::AdamTensor> moments_;
  PieceTable<kernels::SgdTensor> steps_;
  ParameterNorms norms_;
  at::Tensor one_, adapted_;
};

std::unique_ptr<Optimizer> make(const OptimizerConfig& config, const OptimizerInputs& in, bool adapt_all) {
  if (config.implementation != "fused") return make_tensor_optimizer(config, in, lamb_rule(config, adapt_all));
  return std::make_unique<FusedLamb>(config, in, adapt_all);
}

}  // namespace

std::unique_ptr<Optimizer> make_lamb(const OptimizerConfig& config, const OptimizerInputs& in) {
  return make(config, in, /*adapt_all=*/false);
}

std::unique_ptr<Optimizer> make_nvlamb(const OptimizerConfig& config, const OptimizerInputs& in) {
  OptimizerConfig c = config;
  if (c.clip_norm == 0) c.clip_norm = 1;
  return make(c, in, /*adapt_all=*/true);
}

}  // namespace ttt::train
