// SGD with momentum over many tensors in one launch. Learning rate, scale of the gradients and the skip flag are read
// from the device's memory, so that a captured step can be replayed with new values.
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
  *momentum = *momentum * p.momentum + g;
  *weight = fmaf(*momentum, -p.lr, *weight);
}

// Block x of tensor y.
__global__ void __launch_bounds__(kThreads) sgd_tensors(float momentum, const SgdTensor* tensors, SgdControl control) {
  const SgdTensor t = tensors[blockIdx.y];
  const std::int64_t block = static_cast<std::int64_t>(blockIdx.x) * kPerBlock, first = block + threadIdx.x;
  if (block >= t.size || (control.skip != nullptr && *control.skip != 0)) return;
  const SgdParams p{.lr = *control.lr * t.lr_factor,
                    .momentum = momentum,
                    .weight_decay = t.weight_decay,
                    .grad_scale = *control.grad_scale};
  for (int k = 0; k < kPerThread; ++k) {
    const std::int64_t i = first + k * kThreads;
    if (i < t.size) update(p, t.grad + i, t.momentum + i, t.weight + i);
  }
}

__global__ void __launch_bounds__(kThreads) find_nonfinite_kernel(const SgdTensor* tensors, std::int32_t* found) {
  const SgdTensor t = tensors[blockIdx.y];
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kPerBlock + threadIdx.x;
  bool bad = false;
  for (int k = 0; k < kPerThread; ++k) {
    const std::int64_t i = first + k * kThreads;
    bad = bad || (i < t.size && !(fabsf(t.grad[i]) <= 3.402823466e38f));
  }
  if (__any_sync(kAllLanes, bad) && threadIdx.x % 32 == 0) atomicMax(found, std::int32_t{1});
}

}  // namespace

void sgd(float momentum, const SgdTensor* tensors, std::int64_t count, std::int64_t largest, const SgdControl& control,
         cudaStream_t stream) {
  launch("sgd_tensors", sgd_tensors, {.x = blocks_for(largest, kPerBlock), .y = count, .threads = kThreads}, stream,
         momentum, tensors, control);
}

void find_nonfinite(const SgdTensor* tensors, std::int64_t count, std::int64_t largest, std::int32_t* found,
                    cudaStream_t stream) {
  launch("find_nonfinite", find_nonfinite_kernel,
         {.x = blocks_for(largest, kPerBlock), .y = count, .threads = kThreads}, stream, tensors, found);
}

}  // namespace ttt::kernels::cuda
