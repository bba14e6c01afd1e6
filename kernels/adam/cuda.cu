// Adam over many tensors in one launch. What changes from step to step is read from the device's memory, so that a
// captured step can be replayed with new values.
#include "kernels/adam/values.h"
#include "kernels/common/launch.h"

namespace ttt::kernels::cuda {
namespace {

constexpr int kThreads = 256, kPerThread = 4, kPerBlock = kThreads * kPerThread;

__device__ void update(const AdamValues& p, const AdamTensor& t, std::int64_t i) {
  const float g = t.grad[i] * p.grad_scale, w = t.weight[i], old = t.first[i];
  const float m = fmaf(g - old, p.rest1, old);
  const float v = fmaf(g * g, p.rest2, t.second[i] * p.beta2);
  t.first[i] = m, t.second[i] = v;
  const float u = m * p.correction1 / fmaf(sqrtf(v), p.correction2, p.eps);
  if (t.direction != nullptr) t.direction[i] = fmaf(w, p.weight_decay, u);
  else t.weight[i] = fmaf(u, -p.lr, w * p.keep);
}

// Block x of tensor y.
__global__ void __launch_bounds__(kThreads)
    adam_tensors(AdamRule rule, const AdamTensor* tensors, AdamControl control) {
  const AdamTensor t = tensors[blockIdx.y];
  const std::int64_t block = static_cast<std::int64_t>(blockIdx.x) * kPerBlock, first = block + threadIdx.x;
  if (block >= t.size || (control.skip != nullptr && *control.skip != 0)) return;
  const AdamValues p = adam_values(rule, t, control);
  for (int k = 0; k < kPerThread; ++k)
    if (const std::int64_t i = first + k * kThreads; i < t.size) update(p, t, i);
}

}  // namespace

void adam(const AdamRule& rule, const AdamTensor* tensors, std::int64_t count, std::int64_t largest,
    const AdamControl& control, cudaStream_t stream) {
  launch("adam_tensors", adam_tensors, {.x = blocks_for(largest, kPerBlock), .y = count, .threads = kThreads}, stream,
      rule, tensors, control);
}

}  // namespace ttt::kernels::cuda
