#include "telemetry/update_norms.h"

#include <ATen/ops/empty_like.h>

#include <utility>

namespace ttt::train {
namespace {

std::vector<std::vector<model::NormTables::Range>> ranges_of(std::span<const LayerGroup> groups) {
  std::vector<std::vector<model::NormTables::Range>> all;
  for (const LayerGroup& g : groups) {
    all.emplace_back();
    for (const auto& [begin, end] : g.ranges)
      all.back().emplace_back(static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end));
  }
  return all;
}

}  // namespace

UpdateNorms::UpdateNorms(
    model::ParameterStore& store, std::span<const LayerGroup> groups, model::ParameterKernels kernels)
    : store_(store), tables_(ranges_of(groups), model::or_host(std::move(kernels)), store.flat_values().device()),
      before_(at::empty_like(store.flat_values())) {}

void UpdateNorms::step_starts() { before_.copy_(store_.flat_values().detach()); }

std::vector<kernels::SquaredNorms> UpdateNorms::sums(const float* before, const float* after) const {
  const at::Tensor host = tables_.sums(store_.flat_gradients().const_data_ptr<float>(), before, after).to(at::kCPU);
  const auto* sums = reinterpret_cast<const kernels::SquaredNorms*>(host.const_data_ptr<double>());
  return {sums, sums + tables_.groups()};
}

std::vector<kernels::SquaredNorms> UpdateNorms::step_ended() const {
  return sums(before_.const_data_ptr<float>(), store_.flat_values().const_data_ptr<float>());
}

// |w - g|^2 = |w|^2 + |g|^2 - 2 w g. In double precision what cancels costs 1e-16 of the larger square.
std::vector<double> UpdateNorms::weights_times_gradients() const {
  std::vector<double> out;
  for (const kernels::SquaredNorms& s :
      sums(store_.flat_gradients().const_data_ptr<float>(), before_.const_data_ptr<float>()))
    out.push_back((s.weight + s.gradient - s.change) / 2);
  return out;
}

}  // namespace ttt::train
