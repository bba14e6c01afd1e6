// LARS (You, Gitman and Ginsburg 2017, algorithm 1): each parameter's rate is in proportion to its norm over its
// gradient's. Momentum takes the step with its rate, so that a rate that falls does not shrink steps already taken.
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros_like.h>

#include "train/optimizers/parameter_norms.h"
#include "train/optimizers/sgd.h"
#include "train/optimizers/tensor_optimizer.h"

namespace ttt::train {
namespace {

class FusedLars final : public FusedOptimizer {
 public:
  FusedLars(const OptimizerConfig& config, const OptimizerInputs& in)
      : FusedOptimizer(config, in, Grouping::kPerParameter), momentum_(at::zeros_like(in.store.flat_values())),
        pieces_(sgd_pieces(ranges_, in.store.flat_gradients(), momentum_, in.store.flat_values())),
        norms_(ranges_, kernels_, momentum_.device()), one_(at::ones({1}, momentum_.options())),
        adapted_(adapted_parameters(ranges_, /*all=*/false, momentum_.device())),
        decay_(decays_of(ranges_, momentum_.device())) {}
  std::vector<NamedTensor> state() const override { return {{"momentum", momentum_}}; }

 private:
  void update(const Update& u) override {
    const auto [gradient, weight] = norms_.of(store_.flat_gradients(), store_.flat_values());
    const at::Tensor below = (gradient * u.scale + decay_ * weight + config_.eps) / config_.trust;
    const at::Tensor rate = (trust_ratio(weight, below, adapted_) * u.lr).to(at::kFloat);
    const at::Tensor factors = rate.unsqueeze(1).expand({-1, 2}).contiguous();
    kernels_.sgd({.momentum = static_cast<float>(config_.momentum), .nesterov = config_.nesterov}, pieces_.data(),
        pieces_.count(), pieces_.largest(),
        {.lr = one_.const_data_ptr<float>(),
            .grad_scale = u.scale_pointer(),
            .skip = u.skip(),
            .factors = factors_of(factors)});
  }

  at::Tensor momentum_;  // [T] float32
  PieceTable<kernels::SgdTensor> pieces_;
  ParameterNorms norms_;
  at::Tensor one_, adapted_, decay_;
};

}  // namespace

std::unique_ptr<Optimizer> make_lars(const OptimizerConfig& config, const OptimizerInputs& in) {
  if (config.implementation != "fused") return make_tensor_optimizer(config, in, lars_rule(config));
  return std::make_unique<FusedLars>(config, in);
}

}  // namespace ttt::train
