// ATen as a peer: its tensors over our arrays, its operators on one thread, as ours run here.
#pragma once

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>

#include <span>

#include "inputs.h"

namespace ttt::micro {

inline const bool kOneThread = (at::set_num_threads(1), true);

inline at::Tensor view(const Values& v, at::IntArrayRef shape) {
  return at::from_blob(const_cast<float*>(v.data()), shape);
}
// Of a contiguous tensor.
inline std::span<const float> values_of(const at::Tensor& t) {
  return {t.const_data_ptr<float>(), static_cast<std::size_t>(t.numel())};
}

}  // namespace ttt::micro
