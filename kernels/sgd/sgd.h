// SGD with momentum (Sutskever et al. 2013 as in PyTorch: v = momentum v + g + wd w; w -= lr v), in place. With factors
// for each group of weights also the update of LARS, NovoGrad and LAMB, whose factors come from norms.
#pragma once

#include "kernels/common/operation.h"

namespace ttt::kernels {

struct SgdParams {
  float lr = 0, momentum = 0.9f, weight_decay = 0, grad_scale = 1;
  bool nesterov = false;  // w -= lr (g + momentum v)
};
// Of a group of weights: v = momentum v + gradient g + decay wd w.
struct SgdFactors {
  float gradient, decay;
};
// Values that change from step to step, in the memory of the weights: a replayed step reads them anew.
struct SgdControl {
  const float* lr;                      // [1]
  const float* grad_scale;              // [1]
  const std::int32_t* skip;             // [1] not 0: nothing is changed; or null
  const SgdFactors* factors = nullptr;  // [groups], null: all are 1
};
struct SgdTensor {
  const float* grad;
  float* momentum;  // null: v is g + wd w, and nothing is kept
  float* weight;
  std::int64_t size;
  float lr_factor, weight_decay;
  std::int64_t group = 0;  // of the factors
};
struct SgdRule {
  float momentum = 0.9f;
  bool nesterov = false;
};

// tensors: [count], in the memory of the weights; `largest` is the size of the largest.
namespace host {
// One flat range; the gradient is scaled by grad_scale first (1 / ranks).
void sgd(const SgdParams& p, std::int64_t n, const float* grad, float* momentum, float* weight);
void sgd(
    const SgdRule& rule, const SgdTensor* tensors, std::int64_t count, std::int64_t largest, const SgdControl& control);
}  // namespace host
// All tensors in one launch, with blocks for the largest: tensors of about one size waste none.
namespace cuda {
void sgd(const SgdRule& rule, const SgdTensor* tensors, std::int64_t count, std::int64_t largest,
    const SgdControl& control, cudaStream_t stream);
}  // namespace cuda

}  // namespace ttt::kernels
