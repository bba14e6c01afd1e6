// Inputs of operations that are measured by themselves.
#pragma once

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/randn.h>

namespace ttt::ablations {

// Standard normal, the same for the same seed.
inline at::Tensor normal_tensor(at::IntArrayRef shape, std::uint64_t seed) {
  return at::randn(shape, at::make_generator<at::CPUGeneratorImpl>(seed), at::TensorOptions().dtype(at::kFloat));
}

}  // namespace ttt::ablations
