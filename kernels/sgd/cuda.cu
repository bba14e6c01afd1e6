// SGD with momentum over many tensors in one launch. Learning rate, scale and factors of the gradients and the skip
// flag are read from the device's memory, so that a captured step can be replayed with new values.
#include "kernels/common/block.h"
#include "kernels/common/launch.h"
#include "kernels/sgd/sgd.h"

namespace ttt::kernels::cuda {
namespace {

constexpr int kThreads = 256, kPerThread = 4, kPerBlock = kThreads * kPerThread;

// PyTorch's order: weight decay and the step are fused, momentum is a product and then a sum.
__device__ void update(const SgdParams& p, const float* grad, float* momentum, float* weight) {
  float g = *grad * p.grad_scale;
  if (p.weight_decay != 0.0f) g = fmaf(*weight, p.weight_decay, g);
  float v = g;
  if (momentum != nullptr) {
    v = *momentum = *momentum * p.momentum + g;
    if (p.nesterov) v = fmaf(v, p.momentum, g);
  }
  *weight = fmaf(v, -p.lr, *weight);
}

// Block x of tensor y.
__global__ void __launch_bounds__(kThreads) sgd_tensors(SgdRule rule, const SgdTensor* tensors, SgdControl control) {
  const SgdTensor t = tensors[blockIdx.y];
  const std::int64_t block = static_cast<std::int64_t>(blockIdx.x) * kPerBlock, first = block + threadIdx.x;
  if (block >= t.size || (control.skip != nullptr && *control.skip != 0)) return;
  SgdFactors f{1, 1};
  if (control.factors != nullptr) f = control.factors[t.group];
  const SgdParams p{.lr = *control.lr * t.lr_factor,
      .momentum = rule.momentum,
      .weight_decay = t.weight_decay * f.decay,
      .grad_scale = *control.grad_scale * f.gradient,
      .nesterov = rule.nesterov};
  for (int k = 0; k < kPerThread; ++k) {
    const std::int64_t i = first + k * kThreads;
    if (i < t.size) update(p, t.grad + i, t.momentum != nullptr ? t.momentum + i : nullptr, t.weight + i);
  }
}

}  // namespace

void sgd(const SgdRule& rule, const SgdTensor* tensors, std::int64_t count, std::int64_t largest,
    const SgdControl& control, cudaStream_t stream) {
  launch("sgd_tensors", sgd_tensors, {.x = blocks_for(largest, kPerBlock), .y = count, .threads = kThreads}, stream,
      rule, tensors, control);
}

}  // namespace ttt::kernels::cuda
