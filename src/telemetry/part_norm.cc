#include "telemetry/part_norm.h"

#include <algorithm>

namespace ttt::train {
namespace {

std::vector<std::vector<model::NormTables::Range>> all_of(model::ParameterStore& store) {
  return {{{0, store.flat_values().numel()}}};
}

}  // namespace

StepWithPartNorm::StepWithPartNorm(
    std::unique_ptr<Step> inner, model::ParameterStore& store, model::ParameterKernels kernels)
    : inner_(std::move(inner)), store_(store),
      all_(all_of(store), model::or_host(std::move(kernels)), store.flat_values().device()) {}

std::vector<Stage> StepWithPartNorm::stages(StepState& s) {
  std::vector<Stage> all = inner_->stages(s);
  const auto of_first = std::find_if(all.rbegin(), all.rend(), [](const Stage& stage) { return stage.part == 0; });
  const auto take = [this](const Keep&) { sums_ = all_.sums(store_.flat_gradients().const_data_ptr<float>()); };
  all.insert(of_first.base(), Stage{.name = "part_norm", .phase = result::Phase::kOther, .run = take});
  return all;
}

result::Json StepWithPartNorm::describe() const {
  result::Json built = inner_->describe();
  built["part_norm"] = true;
  return built;
}

double StepWithPartNorm::squared_norm() const {
  const at::Tensor host = sums_.to(at::kCPU);
  return reinterpret_cast<const kernels::SquaredNorms*>(host.const_data_ptr<double>())->gradient;
}

}  // namespace ttt::train
