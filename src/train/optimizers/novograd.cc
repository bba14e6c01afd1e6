// NovoGrad (Ginsburg et al. 2019): the second moment is one number for each parameter, of its gradient's norm, and
// begins with the first norm. The paper corrects nothing in first updates; NVIDIA's FusedNovoGrad can, as Adam does.
#include <ATen/ops/full_like.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include "train/optimizers/adam.h"
#include "train/optimizers/parameter_norms.h"
#include "train/optimizers/sgd.h"
#include "train/optimizers/tensor_optimizer.h"

namespace ttt::train {
namespace {

class FusedNovoGrad final : public FusedOptimizer {
 public:
  FusedNovoGrad(const OptimizerConfig& config, const OptimizerInputs& in)
      : FusedOptimizer(config, in, Grouping::kPerParameter), first_(at::zeros_like(in.store.flat_values())),
        second_(at::zeros({std::ssize(ranges_)}, first_.options())),
        pieces_(sgd_pieces(ranges_, in.store.flat_gradients(), first_, in.store.flat_values())),
        norms_(ranges_, kernels_, first_.device()), updates_(at::zeros({1}, first_.options())) {}
  std::vector<NamedTensor> state() const override {
    std::vector<NamedTensor> all = {{"first_moment", first_}, {"second_moment", second_}};
    if (config_.bias_correction) all.push_back({"updates", updates_, /*is_count=*/true});
    return all;
  }

 private:
  void update(const Update& u) override {
    const at::Tensor scale = u.scale.to(at::kDouble),
                     squares = norms_.squares_of(store_.flat_gradients()) * scale * scale;
    advance(second_, novograd_second_moment(config_, second_, squares.to(at::kFloat)), u);
    const double share = config_.grad_averaging ? 1 - config_.beta1 : 1;
    at::Tensor root = second_.sqrt(), lr = u.lr;
    if (config_.bias_correction) {
      advance(updates_, updates_ + 1, u);
      const at::Tensor correction = adam_correction(config_, updates_);
      lr = lr * correction[0], root = root * correction[1];
    }
    const at::Tensor gradient = share / (root + config_.eps);
    const at::Tensor factors = at::stack({gradient, at::full_like(gradient, share)}, 1);
    kernels_.sgd({.momentum = static_cast<float>(config_.beta1)}, pieces_.data(), pieces_.count(), pieces_.largest(),
        {.lr = lr.const_data_ptr<float>(),
            .grad_scale = u.scale_pointer(),
            .skip = u.skip(),
            .factors = factors_of(factors)});
  }

  at::Tensor first_, second_;  // [T], [parameters] float32
  PieceTable<kernels::SgdTensor> pieces_;
  ParameterNorms norms_;
  at::Tensor updates_;  // [1] float32
};

}  // namespace

std::unique_ptr<Optimizer> make_novograd(const OptimizerConfig& config, const OptimizerInputs& in) {
  if (config.implementation != "fused") return make_tensor_optimizer(config, in, novograd_rule(config));
  return std::make_unique<FusedNovoGrad>(config, in);
}

}  // namespace ttt::train
