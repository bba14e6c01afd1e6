// Stochastic gradient descent with momentum.
#pragma once

#include "train/optimizers/gradient_scale.h"

namespace ttt::train {

// PyTorch's SGD, one fused pass, on a device in one launch; biases (names ending in "bias") form their own group.
class FusedSgd final : public Optimizer {
 public:
  // `kernels`: empty ones are the host's. `scaler`: of the loss whose gradients it is given, null: they are not scaled;
  // outlives the optimiser.
  FusedSgd(model::ParameterStore& store, const OptimizerConfig& config, model::ParameterKernels kernels = {},
      LossScaler* scaler = nullptr);
  void step(const Rates& rates) override;
  std::vector<NamedTensor> state() const override { return {{"momentum", momentum_}}; }
  result::Json describe() const override;

 private:
  model::ParameterStore& store_;
  OptimizerConfig config_;
  model::ParameterKernels kernels_;
  LossScaler* scaler_;
  GradientScale scale_;
  at::Tensor momentum_;
  std::int64_t groups_ = 0;               // runs of consecutive parameters of one group
  std::int64_t count_ = 0, largest_ = 0;  // of the tensors below
  // [count * sizeof(SgdTensor)] uint8, where the parameters lie: the groups in pieces of about one size
  at::Tensor tensors_;
};

}  // namespace ttt::train
