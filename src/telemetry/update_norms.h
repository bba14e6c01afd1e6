// Norms of gradients, weights and updates, taken where the parameters lie.
#pragma once

#include <span>
#include <vector>

#include "models/ops/norm_tables.h"
#include "models/parameters.h"
#include "telemetry/layer_groups.h"

namespace ttt::train {

class UpdateNorms {
 public:
  // store: outlives this. kernels: empty ones are the host's. Takes as much memory as the parameters, where they lie.
  UpdateNorms(model::ParameterStore& store, std::span<const LayerGroup> groups, model::ParameterKernels kernels);

  void step_starts();  // keeps the weights
  // Of each group, since then, of the gradients as they lie. The host waits for the device.
  std::vector<kernels::SquaredNorms> step_ended() const;
  // Of each group, scalar products of the weights that were kept and the gradients as they lie. The host waits, too.
  std::vector<double> weights_times_gradients() const;

 private:
  std::vector<kernels::SquaredNorms> sums(const float* before, const float* after) const;

  model::ParameterStore& store_;
  model::NormTables tables_;
  at::Tensor before_;  // [T]
};

}  // namespace ttt::train
