#include "measure/averaged_weights.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>

namespace ttt::ablations {

AveragedWeights::AveragedWeights(model::ParameterStore& store) {
  values_.emplace_back(store.flat_values(), store.flat_values().detach().clone());
  for (const model::Parameter& p : store.all())
    if (p.buffer && p.value.is_floating_point()) values_.emplace_back(p.value, p.value.detach().clone());
}

void AveragedWeights::step_ended(const train::Position&, const result::StepSample&) {
  const at::NoGradGuard no_grad;
  ++updates_;
  const double share = (kDecay + 1) / (static_cast<double>(updates_) + kDecay);
  for (auto& [value, average] : values_) average.lerp_(value, share);
}

void AveragedWeights::exchange() {
  const at::NoGradGuard no_grad;
  for (auto& [value, average] : values_) {
    const at::Tensor kept = value.detach().clone();
    value.copy_(average), average.copy_(kept);
  }
}

}  // namespace ttt::ablations
