#include "train/optimizers/parameter_norms.h"

#include <ATen/ops/ones_like.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>

namespace ttt::train {
namespace {

std::vector<std::vector<model::NormTables::Range>> groups_of(std::span<const UpdateRange> ranges) {
  std::vector<std::vector<model::NormTables::Range>> groups;
  for (const UpdateRange& r : ranges) groups.push_back({{r.begin, r.end}});
  return groups;
}

template <class Value>
at::Tensor per_range(std::span<const UpdateRange> ranges, const at::Device& device, const Value& value) {
  std::vector<double> all;
  for (const UpdateRange& r : ranges) all.push_back(value(r));
  return at::tensor(all, at::kDouble).to(device);
}

}  // namespace

ParameterNorms::ParameterNorms(
    std::span<const UpdateRange> ranges, const model::ParameterKernels& kernels, const at::Device& device)
    : tables_(groups_of(ranges), kernels, device) {}

ParameterNorms::Norms ParameterNorms::of(const at::Tensor& vector, const at::Tensor& weights) const {
  const at::Tensor roots =
      tables_.sums(vector.const_data_ptr<float>(), nullptr, weights.const_data_ptr<float>()).sqrt();
  return {.vector = roots.select(1, 0), .weight = roots.select(1, 1)};
}

at::Tensor ParameterNorms::squares_of(const at::Tensor& vector) const {
  return tables_.sums(vector.const_data_ptr<float>()).select(1, 0);
}

at::Tensor trust_ratio(const at::Tensor& weight, const at::Tensor& vector, const at::Tensor& adapted) {
  const at::Tensor used = (weight > 0).logical_and(vector > 0).logical_and(adapted != 0);
  return at::where(used, weight / vector, at::ones_like(weight));
}

at::Tensor adapted_parameters(std::span<const UpdateRange> ranges, bool all, const at::Device& device) {
  return per_range(ranges, device, [all](const UpdateRange& r) { return all || r.weight_decay != 0 ? 1.0 : 0.0; });
}

at::Tensor decays_of(std::span<const UpdateRange> ranges, const at::Device& device) {
  return per_range(ranges, device, [](const UpdateRange& r) { return r.weight_decay; });
}

at::Tensor novograd_second_moment(const OptimizerConfig& config, const at::Tensor& second, const at::Tensor& squares) {
  return at::where(second == 0, squares, second * config.beta2 + squares * (1 - config.beta2));
}

}  // namespace ttt::train
