// Stochastic gradient descent with momentum.
#pragma once

#include "train/optimizers/fused_optimizer.h"

namespace ttt::train {

// PyTorch's SGD, one fused pass; biases form their own group.
class FusedSgd final : public FusedOptimizer {
 public:
  // `kernels`: empty ones are the host's. `scaler`: of the loss whose gradients it is given, null: they are not scaled;
  // outlives the optimiser.
  FusedSgd(model::ParameterStore& store, const OptimizerConfig& config, model::ParameterKernels kernels = {},
      LossScaler* scaler = nullptr);
  std::vector<NamedTensor> state() const override { return {{"momentum", momentum_}}; }

 private:
  void update(const Update& u) override;

  at::Tensor momentum_;  // [T] float32
  PieceTable<kernels::SgdTensor> pieces_;
};

// Pieces of an update by kernels::sgd.
//   gradient, momentum: arrays in the layout of the parameters; momentum undefined: none is kept
PieceTable<kernels::SgdTensor> sgd_pieces(
    std::span<const UpdateRange> ranges, const at::Tensor& gradient, const at::Tensor& momentum, at::Tensor& weights);

// [groups, 2] float32: SgdControl::factors
inline const kernels::SgdFactors* factors_of(const at::Tensor& factors) {
  return reinterpret_cast<const kernels::SgdFactors*>(factors.const_data_ptr<float>());
}

}  // namespace ttt::train
