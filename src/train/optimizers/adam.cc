#include "train/optimizers/adam.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

namespace ttt::train {

AdamState::AdamState(const model::ParameterStore& store)
    : first(at::zeros_like(store.flat_values())), second(at::zeros_like(first)),
      updates(at::zeros({1}, first.options())) {}

at::Tensor adam_correction(const OptimizerConfig& config, const at::Tensor& updates) {
  const at::Tensor t = updates.to(at::kDouble);
  const at::Tensor first = 1 - at::pow(config.beta1, t), second = 1 - at::pow(config.beta2, t);
  return at::cat({first.reciprocal(), second.sqrt().reciprocal()}).to(at::kFloat);
}

PieceTable<kernels::AdamTensor> adam_pieces(std::span<const UpdateRange> ranges, model::ParameterStore& store,
    const AdamState& state, const at::Tensor& direction) {
  const float* g = store.flat_gradients().const_data_ptr<float>();
  float *m = state.first.mutable_data_ptr<float>(), *v = state.second.mutable_data_ptr<float>(),
        *w = store.flat_values().data_ptr<float>(),
        *u = direction.defined() ? direction.mutable_data_ptr<float>() : nullptr;
  return {store.flat_values().device(), ranges, [=](kernels::AdamTensor& piece, std::int64_t at, const UpdateRange& r) {
            piece.grad = g + at, piece.first = m + at, piece.second = v + at, piece.weight = w + at;
            piece.direction = u ? u + at : nullptr, piece.weight_decay = static_cast<float>(r.weight_decay);
          }};
}

}  // namespace ttt::train
