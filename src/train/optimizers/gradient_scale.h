// The factor of the gradients in an update: mean over ranks, no loss scale, clipped.
#pragma once

#include <optional>

#include "models/ops/norm_tables.h"
#include "train/optimizers/optimizer.h"

namespace ttt::train {

// Gradients lie summed over ranks and of a scaled loss. Divided by both they are the mean's. Where that mean has a
// larger norm than OptimizerConfig::clip_norm it is scaled down to it, all parameters alike (Pascanu et al. 2013). The
// norm is taken in double precision where the parameters lie; the host never asks.
class GradientScale {
 public:
  // kernels: not empty
  GradientScale(const OptimizerConfig& config, model::ParameterStore& store, model::ParameterKernels kernels,
      const LossScaler* scaler);
  // [1] float32 where the parameters lie. A gradient that is not finite makes it no number where gradients are clipped.
  at::Tensor of(const Rates& rates) const;

 private:
  model::ParameterStore& store_;
  const LossScaler* scaler_;
  double clip_norm_;
  std::optional<model::NormTables> all_;  // one group; where gradients are clipped
};

}  // namespace ttt::train
