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

void sgd(const SgdRule& rule, const SgdTensor* tensors, std::int64_t count, std::int64_t /*largest*/,
    const SgdControl& control) {
  if (control.skip != nullptr && *control.skip != 0) return;
  for (std::int64_t i = 0; i < count; ++i) {
    const SgdTensor& t = tensors[i];
    const SgdFactors f = control.factors ? control.factors[t.group] : SgdFactors{1, 1};
    sgd({.lr = *control.lr * t.lr_factor,
            .momentum = rule.momentum,
            .weight_decay = t.weight_decay * f.decay,
            .grad_scale = *control.grad_scale * f.gradient,
            .nesterov = rule.nesterov},
        t.size, t.grad, t.momentum, t.weight);
  }
}

}  // namespace ttt::kernels::host
