#include "telemetry/update_norms.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/_foreach_sub.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/stack.h>

#include <algorithm>
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

UpdateNorms::UpdateNorms(model::ParameterStore& store, std::span<const LayerGroup> groups,
    model::ParameterKernels kernels, std::string method)
    : store_(store), tables_(ranges_of(groups), model::or_host(std::move(kernels)), store.flat_values().device()),
      before_(at::empty_like(store.flat_values())), method_(std::move(method)) {
  for (const model::Parameter* p : store.trainable())
    for (std::size_t g = 0; g < groups.size(); ++g)
      if (std::ranges::any_of(groups[g].ranges,
              [&](const LayerGroup::Range& r) { return r.begin == static_cast<std::size_t>(p->offset); }))
        group_of_.push_back(g);
}

void UpdateNorms::step_starts() { before_.copy_(store_.flat_values().detach()); }

std::vector<kernels::SquaredNorms> UpdateNorms::sums(const float* before, const float* after) const {
  const at::Tensor host = tables_.sums(store_.flat_gradients().const_data_ptr<float>(), before, after).to(at::kCPU);
  const auto* sums = reinterpret_cast<const kernels::SquaredNorms*>(host.const_data_ptr<double>());
  return {sums, sums + tables_.groups()};
}

std::vector<kernels::SquaredNorms> UpdateNorms::by_parameter(const NormsOf& norms_of) const {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> gradients, weights, changes;
  for (const model::Parameter* p : store_.trainable()) {
    gradients.push_back(model::ParameterStore::view_of(store_.flat_gradients(), *p));
    weights.push_back(p->value);
    changes.push_back(model::ParameterStore::view_of(before_, *p));
  }
  changes = at::_foreach_sub(weights, changes);
  std::vector<kernels::SquaredNorms> sums(static_cast<std::size_t>(tables_.groups()), kernels::SquaredNorms{});
  const auto add = [&](const std::vector<at::Tensor>& list, double kernels::SquaredNorms::*kind) {
    const std::vector<double> norms = norms_of(list);
    for (std::size_t i = 0; i < norms.size(); ++i) sums[group_of_[i]].*kind += norms[i] * norms[i];
  };
  add(gradients, &kernels::SquaredNorms::gradient), add(weights, &kernels::SquaredNorms::weight);
  add(changes, &kernels::SquaredNorms::change);
  return sums;
}

std::vector<kernels::SquaredNorms> UpdateNorms::step_ended() const {
  if (method_ == "per_tensor")
    return by_parameter([](const std::vector<at::Tensor>& list) {
      std::vector<double> norms;
      for (const at::Tensor& t : list) norms.push_back(t.norm().item<double>());
      return norms;
    });
  if (method_ == "foreach")
    return by_parameter([](const std::vector<at::Tensor>& list) {
      const at::Tensor norms = at::stack(at::_foreach_norm(list)).to(at::kCPU, at::kDouble);
      return std::vector<double>(norms.const_data_ptr<double>(), norms.const_data_ptr<double>() + norms.numel());
    });
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
