// Tables of kernels::squared_norms: groups of the flat parameters, cut into pieces.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "models/ops/parameter_kernels.h"

namespace ttt::model {

class NormTables {
 public:
  using Range = std::pair<std::int64_t, std::int64_t>;  // [begin, end) of the flat parameters
  // kernels: not empty (or_host). device: of the parameters.
  NormTables(std::span<const std::vector<Range>> groups, ParameterKernels kernels, const at::Device& device);

  std::int64_t groups() const { return sums_.size(0); }
  // [groups, 3] float64, as SquaredNorms, until the next call; on the device, without waiting for it. `before` is null
  // where no change is wanted, and `after` too where sums of gradients are wanted alone.
  const at::Tensor& sums(const float* gradient, const float* before = nullptr, const float* after = nullptr) const;

 private:
  ParameterKernels kernels_;
  std::int64_t pieces_ = 0;
  at::Tensor piece_, group_begin_;  // uint8, NormGroups' arrays
  at::Tensor partial_, sums_;       // [pieces, 3], [groups, 3] float64
};

}  // namespace ttt::model
