#include "telemetry/reductions.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/stack.h>

#include <algorithm>

#include "core/error.h"

namespace ttt::train {
namespace {

// Ranges that touch become one: a layer's parameters lie side by side.
LayerGroup joined(LayerGroup group) {
  std::ranges::sort(group.ranges, {}, &LayerGroup::Range::begin);
  std::vector<LayerGroup::Range> ranges;
  for (const LayerGroup::Range& r : group.ranges) {
    if (!ranges.empty() && ranges.back().end == r.begin) ranges.back().end = r.end;
    else ranges.push_back(r);
  }
  group.ranges = std::move(ranges);
  return group;
}

// `x`: finite. Sums are in double precision.
at::Tensor reduced(const std::string& reduction, const at::Tensor& x) {
  if (reduction == "l1") return x.abs().sum(at::kDouble);
  if (reduction == "mean") return x.mean(at::kDouble);
  if (reduction == "std") return x.std(/*unbiased=*/false).to(at::kDouble);
  if (reduction == "min") return x.min().to(at::kDouble);
  if (reduction == "max") return x.max().to(at::kDouble);
  throw UsageError("train.telemetry.reductions = \"" + reduction + "\": there is no such reduction.");
}

}  // namespace

Reductions::Reductions(
    model::ParameterStore& store, std::span<const LayerGroup> groups, std::vector<std::string> reductions)
    : store_(store), reductions_(std::move(reductions)) {
  for (const LayerGroup& g : groups) groups_.push_back(joined(g));
}

std::vector<at::Tensor> Reductions::of_group(const at::Tensor& flat, const LayerGroup& group) const {
  std::vector<at::Tensor> slices;
  for (const auto& [begin, end] : group.ranges)
    slices.push_back(flat.slice(0, static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end)));
  const at::Tensor all = slices.size() == 1 ? slices[0] : at::cat(slices);
  const at::Tensor finite = all.nan_to_num(0, 0, 0);
  std::vector<at::Tensor> out;
  for (const std::string& reduction : reductions_)
    out.push_back(
        reduction == "nonfinite" ? all.isfinite().logical_not().sum(at::kDouble) : reduced(reduction, finite));
  return out;
}

std::vector<double> Reductions::take(double gradient_scale) const {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> all;
  for (const LayerGroup& group : groups_)
    for (const at::Tensor& flat : {store_.flat_gradients(), store_.flat_values()})
      for (at::Tensor& value : of_group(flat, group)) all.push_back(std::move(value));
  const at::Tensor host = at::stack(all).to(at::kCPU);
  std::vector<double> out(host.const_data_ptr<double>(), host.const_data_ptr<double>() + host.numel());
  for (std::size_t i = 0; i < out.size(); ++i) {
    const bool of_gradients = i / reductions_.size() % 2 == 0;
    if (of_gradients && reductions_[i % reductions_.size()] != "nonfinite") out[i] *= gradient_scale;
  }
  return out;
}

}  // namespace ttt::train
