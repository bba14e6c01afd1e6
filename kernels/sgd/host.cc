#include <bit>

#include "core/error.h"
#include "kernels/common/simd.h"
#include "kernels/sgd/sgd.h"

#define TTT_SIMD_BODY "kernels/sgd/host_simd.inc"
#include "kernels/common/simd_variants.inc"

namespace ttt::kernels::host {

void sgd(const SgdParams& p, std::int64_t n, const float* grad, float* momentum, float* weight) {
  if (n < 0) throw UsageError("SGD over a negative number of weights. Correct the range.");
  TTT_PICK(best_isa(), update)(p, n, grad, momentum, weight);
}

void sgd(float momentum, const SgdTensor* tensors, std::int64_t count, std::int64_t /*largest*/,
         const SgdControl& control) {
  if (control.skip != nullptr && *control.skip != 0) return;
  for (std::int64_t i = 0; i < count; ++i) {
    const SgdTensor& t = tensors[i];
    sgd({.lr = *control.lr * t.lr_factor,
         .momentum = momentum,
         .weight_decay = t.weight_decay,
         .grad_scale = *control.grad_scale},
        t.size, t.grad, t.momentum, t.weight);
  }
}

void find_nonfinite(const SgdTensor* tensors, std::int64_t count, std::int64_t /*largest*/, std::int32_t* found) {
  for (std::int64_t i = 0; i < count; ++i) {
    constexpr std::uint32_t kExponent = 0x7F800000u;  // all ones for infinities and NaNs
    std::uint32_t bad = 0;
    for (std::int64_t k = 0; k < tensors[i].size; ++k)
      bad |= (std::bit_cast<std::uint32_t>(tensors[i].grad[k]) & kExponent) == kExponent;
    if (bad != 0) *found = 1;
  }
}

}  // namespace ttt::kernels::host
