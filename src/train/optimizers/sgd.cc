#include "train/optimizers/sgd.h"

#include <ATen/ops/zeros_like.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <span>
#include <vector>

namespace ttt::train {
namespace {

// Of a launch's blocks none is without work where all tensors are of one size; a host's loop does not notice.
constexpr std::int64_t kPiece = 1 << 15;

bool is_bias(const std::string& name) { return name.ends_with(".bias"); }

struct Range {  // consecutive parameters of one group
  std::int64_t begin = 0, end = 0;
  bool bias = false;
};

std::vector<Range> ranges_of(const model::ParameterStore& store) {
  std::vector<Range> ranges;
  for (const model::Parameter* p : store.trainable()) {
    const bool bias = is_bias(p->name);
    // The padding behind a parameter stays zero under any update: it may belong to either group.
    if (!ranges.empty() && ranges.back().bias == bias) ranges.back().end = p->offset + p->count;
    else ranges.push_back({p->offset, p->offset + p->count, bias});
  }
  return ranges;
}

}  // namespace

FusedSgd::FusedSgd(
    model::ParameterStore& store, const OptimizerConfig& config, model::ParameterKernels kernels, LossScaler* scaler)
    : store_(store), config_(config), kernels_(model::or_host(std::move(kernels))), scaler_(scaler),
      scale_(config, store, kernels_, scaler), momentum_(at::zeros_like(store.flat_values())) {
  const float* gradients = store.flat_gradients().const_data_ptr<float>();
  float *momentum = momentum_.data_ptr<float>(), *values = store.flat_values().data_ptr<float>();
  std::vector<kernels::SgdTensor> pieces;
  for (const Range& r : ranges_of(store)) {
    ++groups_;
    for (std::int64_t at = r.begin; at < r.end; at += kPiece) {
      const std::int64_t size = std::min(kPiece, r.end - at);
      largest_ = std::max(largest_, size);
      pieces.push_back({.grad = gradients + at,
          .momentum = momentum + at,
          .weight = values + at,
          .size = size,
          .lr_factor = static_cast<float>(r.bias ? config.bias_lr_factor : 1.0),
          .weight_decay = static_cast<float>(r.bias && !config.decay_bias ? 0.0 : config.weight_decay)});
    }
  }
  count_ = std::ssize(pieces);
  tensors_ = model::bytes_on(momentum_.device(), std::as_bytes(std::span(pieces)));
}

void FusedSgd::step(const Rates& rates) {
  // read, written
  RECORD_FUNCTION("ttt::sgd", std::vector<c10::IValue>({store_.flat_gradients(), momentum_, momentum_,
                                  store_.flat_values(), store_.flat_values()}));
  const auto* tensors = static_cast<const kernels::SgdTensor*>(tensors_.const_data_ptr());
  const at::Tensor scale = scale_.of(rates);
  kernels::SgdControl control{
      .lr = rates.tensor.const_data_ptr<float>(), .grad_scale = scale.const_data_ptr<float>(), .skip = nullptr};
  if (scaler_) {
    const at::Tensor found = scaler_->clear_found();
    kernels_.find_nonfinite(tensors, count_, largest_, found.mutable_data_ptr<std::int32_t>());
    control.skip = found.const_data_ptr<std::int32_t>();
  }
  kernels_.sgd(static_cast<float>(config_.momentum), tensors, count_, largest_, control);
  if (scaler_) scaler_->update();
}

result::Json FusedSgd::describe() const {
  return {{"kind", "fused_sgd"}, {"parameters", store_.trainable_count()}, {"groups", groups_},
      {"clip_norm", config_.clip_norm}};
}

std::unique_ptr<Optimizer> make_sgd(const OptimizerConfig& config, const OptimizerInputs& in) {
  return std::make_unique<FusedSgd>(in.store, config, in.kernels, in.scaler);
}

}  // namespace ttt::train
