// SGD with momentum (Sutskever et al. 2013 as in PyTorch: v = momentum v + g + wd w; w -= lr v), in place.
#pragma once

#include "kernels/common/operation.h"

namespace ttt::kernels {

struct SgdParams {
  float lr = 0, momentum = 0.9f, weight_decay = 0, grad_scale = 1;
};
// Values that change from step to step, in the memory of the weights: a replayed step reads them anew.
struct SgdControl {
  const float* lr;           // [1]
  const float* grad_scale;   // [1]
  const std::int32_t* skip;  // [1] not 0: nothing is changed; or null
};
struct SgdTensor {
  const float* grad;
  float *momentum, *weight;
  std::int64_t size;
  float lr_factor, weight_decay;
};

// tensors: [count], in the memory of the weights; `largest` is the size of the largest.
// find_nonfinite sets found [1] to 1 where a gradient is infinite or NaN, else leaves it alone.
namespace host {
// One flat range; the gradient is scaled by grad_scale first (1 / ranks).
void sgd(const SgdParams& p, std::int64_t n, const float* grad, float* momentum, float* weight);
void sgd(float momentum, const SgdTensor* tensors, std::int64_t count, std::int64_t largest, const SgdControl& control);
void find_nonfinite(const SgdTensor* tensors, std::int64_t count, std::int64_t largest, std::int32_t* found);
}  // namespace host
// All tensors in one launch, with blocks for the largest: tensors of about one size waste none.
namespace cuda {
void sgd(float momentum, const SgdTensor* tensors, std::int64_t count, std::int64_t largest, const SgdControl& control,
         cudaStream_t stream);
void find_nonfinite(const SgdTensor* tensors, std::int64_t count, std::int64_t largest, std::int32_t* found,
                    cudaStream_t stream);
}  // namespace cuda

}  // namespace ttt::kernels
