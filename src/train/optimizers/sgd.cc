#include "train/optimizers/sgd.h"

#include <ATen/ops/zeros_like.h>

#include "train/optimizers/tensor_optimizer.h"

namespace ttt::train {

PieceTable<kernels::SgdTensor> sgd_pieces(
    std::span<const UpdateRange> ranges, const at::Tensor& gradient, const at::Tensor& momentum, at::Tensor& weights) {
  const float* g = gradient.const_data_ptr<float>();
  float *m = momentum.defined() ? momentum.mutable_data_ptr<float>() : nullptr, *w = weights.data_ptr<float>();
  return {weights.device(), ranges, [=](kernels::SgdTensor& piece, std::int64_t at, const UpdateRange& r) {
            piece.grad = g + at, piece.momentum = m ? m + at : nullptr, piece.weight = w + at;
            piece.weight_decay = static_cast<float>(r.weight_decay), piece.group = r.group;
          }};
}

FusedSgd::FusedSgd(
    model::ParameterStore& store, const OptimizerConfig& config, model::ParameterKernels kernels, LossScaler* scaler)
    : FusedOptimizer(config, {.store = store, .kernels = std::move(kernels), .scaler = scaler}, Grouping::kAlike),
      momentum_(at::zeros_like(store.flat_values())),
      pieces_(sgd_pieces(ranges_, store.flat_gradients(), momentum_, store.flat_values())) {}

void FusedSgd::update(const Update& u) {
  kernels_.sgd({.momentum = static_cast<float>(config_.momentum), .nesterov = config_.nesterov}, pieces_.data(),
      pieces_.count(), pieces_.largest(), {.lr = u.lr_pointer(), .grad_scale = u.scale_pointer(), .skip = u.skip()});
}

std::unique_ptr<Optimizer> make_sgd(const OptimizerConfig& config, const OptimizerInputs& in) {
  if (config.implementation != "fused") return make_tensor_optimizer(config, in, sgd_rule(config));
  return std::make_unique<FusedSgd>(in.store, config, in.kernels, in.scaler);
}

}  // namespace ttt::train
