#include "models/ops/norm_tables.h"

#include <ATen/ops/empty.h>

#include <algorithm>

namespace ttt::model {
namespace {

static_assert(sizeof(kernels::SquaredNorms) == 3 * sizeof(double));
kernels::SquaredNorms* sums_of(const at::Tensor& sums) {
  return reinterpret_cast<kernels::SquaredNorms*>(sums.mutable_data_ptr<double>());
}

}  // namespace

NormTables::NormTables(std::span<const std::vector<Range>> groups, ParameterKernels kernels, const at::Device& device)
    : kernels_(std::move(kernels)) {
  std::vector<kernels::NormPiece> pieces;
  std::vector<std::int64_t> group_begin{0};
  for (const std::vector<Range>& ranges : groups) {
    for (const auto& [begin, end] : ranges)
      for (std::int64_t at = begin; at < end; at += kernels::kNormPiece)
        pieces.push_back({at, std::min(kernels::kNormPiece, end - at)});
    group_begin.push_back(std::ssize(pieces));
  }
  pieces_ = std::ssize(pieces);
  piece_ = bytes_on(device, std::as_bytes(std::span(pieces)));
  group_begin_ = bytes_on(device, std::as_bytes(std::span(group_begin)));
  const auto options = at::TensorOptions(device).dtype(at::kDouble);
  partial_ = at::empty({pieces_, 3}, options), sums_ = at::empty({std::ssize(groups), 3}, options);
}

const at::Tensor& NormTables::sums(const float* gradient, const float* before, const float* after) const {
  kernels_.squared_norms({.piece = static_cast<const kernels::NormPiece*>(piece_.const_data_ptr()),
                             .group_begin = static_cast<const std::int64_t*>(group_begin_.const_data_ptr()),
                             .pieces = pieces_,
                             .groups = groups()},
      gradient, before, after, sums_of(partial_), sums_of(sums_));
  return sums_;
}

}  // namespace ttt::model
