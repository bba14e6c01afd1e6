#include "telemetry/update_norms.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include <algorithm>

namespace ttt::train {
namespace {

static_assert(sizeof(kernels::SquaredNorms) == 3 * sizeof(double));
kernels::SquaredNorms* sums_of(const at::Tensor& sums) { return reinterpret_cast<kernels::SquaredNorms*>(sums.mutable_data_ptr<double>()); }

}  // namespace

UpdateNorms::UpdateNorms(model::ParameterStore& store, std::span<const LayerGroup> groups, model::ParameterKernels kernels)
    : store_(store), kernels_(model::or_host(std::move(kernels))), groups_(std::ssize(groups)), before_(at::empty_like(store.flat_values())) {
  std::vector<kernels::NormPiece> pieces;
  std::vector<std::int64_t> group_begin{0};
  for (const LayerGroup& g : groups) {
    for (const auto& [begin, end] : g.ranges)
      for (auto at = static_cast<std::int64_t>(begin); at < static_cast<std::int64_t>(end); at += kernels::kNormPiece)
        pieces.push_back({at, std::min(kernels::kNormPiece, static_cast<std::int64_t>(end) - at)});
    group_begin.push_back(std::ssize(pieces));
  }
  pieces_ = std::ssize(pieces);
  const at::Device device = before_.device();
  piece_ = model::bytes_on(device, std::as_bytes(std::span(pieces)));
  group_begin_ = model::bytes_on(device, std::as_bytes(std::span(group_begin)));
  partial_ = at::empty({pieces_, 3}, before_.options().dtype(at::kDouble));
  sums_ = at::empty({groups_, 3}, before_.options().dtype(at::kDouble));
}

void UpdateNorms::step_starts() { before_.copy_(store_.flat_values().detach()); }

std::vector<kernels::SquaredNorms> UpdateNorms::step_ended() const {
  kernels_.squared_norms({.piece = static_cast<const kernels::NormPiece*>(piece_.const_data_ptr()),
                          .group_begin = static_cast<const std::int64_t*>(group_begin_.const_data_ptr()), .pieces = pieces_, .groups = groups_},
                         store_.flat_gradients().const_data_ptr<float>(), before_.const_data_ptr<float>(), store_.flat_values().const_data_ptr<float>(),
                         sums_of(partial_), sums_of(sums_));
  const at::Tensor host = sums_.to(at::kCPU);
  return {sums_of(host), sums_of(host) + groups_};
}

}  // namespace ttt::train
