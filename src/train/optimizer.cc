#include "train/optimizer.h"

#include <ATen/ops/zeros_like.h>
#include <ATen/record_function.h>

#include "kernels/host/detection.h"

namespace ttt::train {
namespace {

bool is_bias(const std::string& name) { return name.ends_with(".bias"); }

}  // namespace

FusedSgd::FusedSgd(model::ParameterStore& store, const OptimizerConfig& config, SgdKernel kernel)
    : store_(store), config_(config), kernel_(kernel ? std::move(kernel) : kernels::host::sgd), momentum_(at::zeros_like(store.flat_values())) {
  for (const model::Parameter* p : store.trainable()) {
    const bool bias = is_bias(p->name);
    // The padding behind a parameter stays zero under any update: it may belong to either group.
    if (!ranges_.empty() && ranges_.back().bias == bias) ranges_.back().end = p->offset + p->count;
    else ranges_.push_back({p->offset, p->offset + p->count, bias});
  }
}

void FusedSgd::step(double lr, double gradient_scale) {
  RECORD_FUNCTION("ttt::sgd", std::vector<c10::IValue>({store_.flat_gradients(), momentum_, momentum_, store_.flat_values(), store_.flat_values()}));  // read, written
  for (const Range& r : ranges_) {
    kernels::SgdParams p;
    p.lr = static_cast<float>(r.bias ? lr * config_.bias_lr_factor : lr);
    p.momentum = static_cast<float>(config_.momentum);
    p.weight_decay = static_cast<float>(r.bias && !config_.decay_bias ? 0.0 : config_.weight_decay);
    p.grad_scale = static_cast<float>(gradient_scale);
    kernel_(p, r.end - r.begin, store_.flat_gradients().const_data_ptr<float>() + r.begin, momentum_.data_ptr<float>() + r.begin,
            store_.flat_values().data_ptr<float>() + r.begin);
  }
}

result::Json FusedSgd::describe() const {
  return {{"kind", "fused_sgd"}, {"parameters", store_.trainable_count()}, {"groups", ranges_.size()}};
}

}  // namespace ttt::train
