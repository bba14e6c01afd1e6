// What runs over the flat parameters as a whole.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <span>

#include "kernels/sgd/sgd.h"
#include "kernels/squared_norms/squared_norms.h"

namespace ttt::model {

// The reference implementations of these names, or the kernels for the memory in which the parameters lie.
struct ParameterKernels {
  std::function<void(float momentum, const kernels::SgdTensor* tensors, std::int64_t count, std::int64_t largest, const kernels::SgdControl&)> sgd;
  std::function<void(const kernels::SgdTensor* tensors, std::int64_t count, std::int64_t largest, std::int32_t* found)> find_nonfinite;
  // partial: [groups.pieces], scratch of the device's.
  std::function<void(const kernels::NormGroups& groups, const float* gradient, const float* before, const float* after, kernels::SquaredNorms* partial, kernels::SquaredNorms* out)>
      squared_norms;
};

// The host's where all of `kernels` are empty; throws Error where some are.
ParameterKernels or_host(ParameterKernels kernels);

// [bytes] uint8 on `device`: what such a kernel is told of the tensors.
at::Tensor bytes_on(const at::Device& device, std::span<const std::byte> bytes);

}  // namespace ttt::model
