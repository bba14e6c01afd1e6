#include "train/optimizers/fused_optimizer.h"

#include <ATen/ops/where.h>
#include <ATen/record_function.h>

#include "train/optimizers/adam.h"

namespace ttt::train {

FusedOptimizer::FusedOptimizer(const OptimizerConfig& config, const OptimizerInputs& in, Grouping grouping)
    : store_(in.store), config_(config), kernels_(model::or_host(in.kernels)),
      ranges_(update_ranges(in.store, config, grouping)), scaler_(in.scaler),
      scale_(config, in.store, kernels_, in.scaler) {}

void FusedOptimizer::step(const Rates& rates) {
  std::vector<c10::IValue> arrays{store_.flat_gradients(), store_.flat_values(), store_.flat_values()};
  for (const NamedTensor& t : state()) arrays.insert(arrays.end(), {t.value, t.value});  // read, written
  RECORD_FUNCTION("ttt::optimizer", arrays);
  Update u{.lr = rates.tensor.narrow(0, 0, 1), .scale = scale_.of(rates), .found = {}};
  if (scaler_) {
    u.found = scaler_->clear_found();
    const at::Tensor& gradients = store_.flat_gradients();
    kernels_.find_nonfinite(
        gradients.const_data_ptr<float>(), gradients.numel(), u.found.mutable_data_ptr<std::int32_t>());
  }
  update(u);
  if (scaler_) scaler_->update();
}

void FusedOptimizer::advance(at::Tensor& state, const at::Tensor& next, const Update& u) {
  state.copy_(u.found.defined() ? at::where(u.found != 0, state, next) : next);
}

result::Json FusedOptimizer::describe() const {
  return {{"kind", config_.implementation + "_" + config_.kind}, {"parameters", store_.trainable_count()},
      {"groups", ranges_.size()}, {"clip_norm", config_.clip_norm}};
}

void FusedOptimizer::run_adam(
    at::Tensor& updates, const PieceTable<kernels::AdamTensor>& pieces, const Update& u) const {
  advance(updates, updates + 1, u);
  const at::Tensor correction = adam_correction(config_, updates);
  kernels_.adam({.beta1 = config_.beta1, .beta2 = config_.beta2, .eps = config_.eps}, pieces.data(), pieces.count(),
      pieces.largest(),
      {.lr = u.lr_pointer(),
          .grad_scale = u.scale_pointer(),
          .correction = correction.const_data_ptr<float>(),
          .skip = u.skip()});
}

}  // namespace ttt::train
