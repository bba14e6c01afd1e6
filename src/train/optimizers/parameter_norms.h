// Norms of single parameters, and the factors that LARS, LAMB and NovoGrad make of them. All of it lies where the
// parameters lie; the host never asks.
#pragma once

#include <span>

#include "models/ops/norm_tables.h"
#include "train/optimizers/update_pieces.h"

namespace ttt::train {

class ParameterNorms {
 public:
  ParameterNorms(std::span<const UpdateRange> ranges, const model::ParameterKernels& kernels, const at::Device& device);
  struct Norms {
    at::Tensor vector, weight;  // [parameters] float64
  };
  // Of `vector`, an array in the parameters' layout, and of the weights.
  Norms of(const at::Tensor& vector, const at::Tensor& weights) const;
  at::Tensor squares_of(const at::Tensor& vector) const;  // [parameters] float64

 private:
  model::NormTables tables_;
};

// [parameters] float64: weight / vector where both are above zero and `adapted` [parameters] is not 0, else 1.
at::Tensor trust_ratio(const at::Tensor& weight, const at::Tensor& vector, const at::Tensor& adapted);
// [parameters] float64 on `device`: 1 for parameters that are decayed, or for all of them; else 0.
at::Tensor adapted_parameters(std::span<const UpdateRange> ranges, bool all, const at::Device& device);
// The same of weight decays.
at::Tensor decays_of(std::span<const UpdateRange> ranges, const at::Device& device);

// NovoGrad's second moment after an update: it begins with the first square.
//   second, squares: [parameters] float32
at::Tensor novograd_second_moment(const OptimizerConfig& config, const at::Tensor& second, const at::Tensor& squares);

}  // namespace ttt::train
