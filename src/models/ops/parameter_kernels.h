// Kernels over the flat parameters as a whole.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <span>

#include "kernels/adam/adam.h"
#include "kernels/round_bfloat16/round_bfloat16.h"
#include "kernels/sgd/sgd.h"
#include "kernels/squared_norms/squared_norms.h"

namespace ttt::model {

// The reference implementations of these names, or the kernels for the memory in which the parameters lie.
struct ParameterKernels {
  std::function<void(const kernels::SgdRule&, const kernels::SgdTensor* tensors, std::int64_t count,
      std::int64_t largest, const kernels::SgdControl&)>
      sgd;
  std::function<void(const kernels::AdamRule&, const kernels::AdamTensor* tensors, std::int64_t count,
      std::int64_t largest, const kernels::AdamControl&)>
      adam;
  std::function<void(const float* gradient, std::int64_t count, std::int32_t* found)> find_nonfinite;
  // partial: [groups.pieces], scratch of the device's.
  std::function<void(const kernels::NormGroups& groups, const float* gradient, const float* before, const float* after,
      kernels::SquaredNorms* partial, kernels::SquaredNorms* out)>
      squared_norms;
  std::function<void(kernels::Rounding, std::uint64_t key, const float* update, std::int64_t count, float* values)>
      round_bfloat16;
};

// The host's where `kernels` are empty.
ParameterKernels or_host(ParameterKernels kernels);

// [bytes] uint8 on `device`: what such a kernel is told of the tensors.
at::Tensor bytes_on(const at::Device& device, std::span<const std::byte> bytes);

}  // namespace ttt::model
