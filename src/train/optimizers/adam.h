// Adam's moments, for the optimizers that have them.
#pragma once

#include "train/optimizers/fused_optimizer.h"

namespace ttt::train {

struct AdamState {
  explicit AdamState(const model::ParameterStore& store);
  at::Tensor first, second;  // [T] float32
  at::Tensor updates;        // [1] float32: how many there were, exact below 2^24
  std::vector<NamedTensor> tensors() const {
    return {{"first_moment", first}, {"second_moment", second}, {"updates", updates, /*is_count=*/true}};
  }
};

// [2] float32: AdamControl::correction of update number `updates`, computed in double precision.
at::Tensor adam_correction(const OptimizerConfig& config, const at::Tensor& updates);
// direction: [T] float32 that is written in place of the weights; undefined: the weights are updated
PieceTable<kernels::AdamTensor> adam_pieces(std::span<const UpdateRange> ranges, model::ParameterStore& store,
    const AdamState& state, const at::Tensor& direction);

}  // namespace ttt::train
