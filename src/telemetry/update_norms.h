// Norms of gradients, weights and updates, taken where the parameters lie.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "models/ops/norm_tables.h"
#include "models/parameters.h"
#include "telemetry/layer_groups.h"

namespace ttt::train {

class UpdateNorms {
 public:
  // store: outlives this. kernels: empty ones are the host's. method: of train.telemetry.norms; all but "fused" sum in
  // single precision. Takes as much memory as the parameters, where they lie.
  UpdateNorms(model::ParameterStore& store, std::span<const LayerGroup> groups, model::ParameterKernels kernels,
      std::string method = "fused");

  void step_starts();  // keeps the weights
  // Of each group, since then, of the gradients as they lie. The host waits for the device.
  std::vector<kernels::SquaredNorms> step_ended() const;
  // Of each group, scalar products of the weights that were kept and the gradients as they lie. The host waits, too.
  std::vector<double> weights_times_gradients() const;

 private:
  // Of one kind of array, [parameters], norms.
  using NormsOf = std::function<std::vector<double>(const std::vector<at::Tensor>&)>;
  std::vector<kernels::SquaredNorms> by_parameter(const NormsOf& norms_of) const;
  std::vector<kernels::SquaredNorms> sums(const float* before, const float* after) const;

  model::ParameterStore& store_;
  model::NormTables tables_;
  at::Tensor before_;  // [T]
  std::string method_;
  std::vector<std::size_t> group_of_;  // of each trainable parameter
};

}  // namespace ttt::train
