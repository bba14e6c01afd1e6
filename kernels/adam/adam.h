// Adam's moments (Kingma and Ba 2015) and what follows from them, in place: the update of AdamW (Loshchilov and Hutter
// 2019), or the direction that LAMB (You et al. 2020) scales by norms.
#pragma once

#include "kernels/common/operation.h"

namespace ttt::kernels {

struct AdamRule {
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;  // 1 - beta is rounded to float32 once
};
// Values that change from step to step, in the memory of the weights: a replayed step reads them anew.
struct AdamControl {
  const float* lr;           // [1]
  const float* grad_scale;   // [1]
  const float* correction;   // [2] 1 / (1 - beta1^t) and 1 / sqrt(1 - beta2^t) of update t = 1, 2, ...
  const std::int32_t* skip;  // [1] not 0: nothing is changed; or null
};
struct AdamTensor {
  const float* grad;
  float *first, *second;  // moments
  float* weight;
  float* direction;  // null: the weights are updated; else they are only read, and [size] is written here
  std::int64_t size;
  float lr_factor, weight_decay;
};

// m += (1 - beta1) (g - m); v = beta2 v + (1 - beta2) g^2; u = (m correction) / (sqrt(v) correction + eps).
// The weights are updated as PyTorch's AdamW does: w = w (1 - lr wd) - lr u. A direction is u + wd w.
//   tensors: [count], in the memory of the weights; `largest` is the size of the largest.
namespace host {
void adam(const AdamRule& rule, const AdamTensor* tensors, std::int64_t count, std::int64_t largest,
    const AdamControl& control);
}
namespace cuda {
void adam(const AdamRule& rule, const AdamTensor* tensors, std::int64_t count, std::int64_t largest,
    const AdamControl& control, cudaStream_t stream);
}

}  // namespace ttt::kernels
