// Training whose weights, sums or gradients have no more digits than bfloat16.
#pragma once

#include "train/optimizers/optimizer.h"

namespace ttt::train {

// `inner` with the roundings of config.round_*. Values lie as float32 and hold what 16 bits can
// (kernels/round_bfloat16), so that any optimizer on any device can be studied so.
std::unique_ptr<Optimizer> make_rounded(
    const OptimizerConfig& config, const OptimizerInputs& in, std::unique_ptr<Optimizer> inner);

}  // namespace ttt::train
