// The numbers of an update of one tensor; host and device round alike.
#pragma once

#include "core/host_device.h"
#include "kernels/adam/adam.h"

namespace ttt::kernels {

struct AdamValues {
  float grad_scale, beta2, rest1, rest2;  // rest: 1 - beta
  float correction1, correction2, eps;
  float lr, weight_decay, keep;  // keep: of a weight, 1 - lr wd
};

TTT_HD inline AdamValues adam_values(const AdamRule& rule, const AdamTensor& t, const AdamControl& c) {
  const float lr = *c.lr * t.lr_factor;
  return {.grad_scale = *c.grad_scale,
      .beta2 = static_cast<float>(rule.beta2),
      .rest1 = static_cast<float>(1 - rule.beta1),
      .rest2 = static_cast<float>(1 - rule.beta2),
      .correction1 = c.correction[0],
      .correction2 = c.correction[1],
      .eps = static_cast<float>(rule.eps),
      .lr = lr,
      .weight_decay = t.weight_decay,
      .keep = 1.0f - lr * t.weight_decay};
}

}  // namespace ttt::kernels
