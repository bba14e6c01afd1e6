#include "train/optimizers/gradient_scale.h"

#include <utility>

namespace ttt::train {

GradientScale::GradientScale(const OptimizerConfig& config, model::ParameterStore& store,
    model::ParameterKernels kernels, const LossScaler* scaler)
    : store_(store), scaler_(scaler), clip_norm_(config.clip_norm) {
  if (clip_norm_ <= 0) return;
  const std::vector<model::NormTables::Range> all = {{0, store.flat_gradients().numel()}};
  all_.emplace(std::span(&all, 1), std::move(kernels), store.flat_gradients().device());
}

at::Tensor GradientScale::of(const Rates& rates) const {
  at::Tensor scale = rates.tensor.select(0, 1);
  if (scaler_) scale = scale / scaler_->scale();
  if (!all_) return scale.view({1});
  constexpr double kEps = 1e-6;  // as torch.nn.utils.clip_grad_norm_: a norm of 0 divides nothing
  const at::Tensor& sums = all_->sums(store_.flat_gradients().const_data_ptr<float>());
  const at::Tensor norm = sums.select(1, 0).sqrt() * scale;
  return (scale * (clip_norm_ / (norm + kEps)).clamp_max(1)).to(at::kFloat);
}

}  // namespace ttt::train
