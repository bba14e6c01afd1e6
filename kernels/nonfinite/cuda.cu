// A scan of all gradients in one launch. Many threads may write the same 1.
#include "kernels/common/block.h"
#include "kernels/common/launch.h"
#include "kernels/nonfinite/nonfinite.h"

namespace ttt::kernels::cuda {
namespace {

constexpr int kThreads = 256, kPerThread = 4, kPerBlock = kThreads * kPerThread;

__global__ void __launch_bounds__(kThreads)
    find_nonfinite_kernel(const float* gradient, std::int64_t count, std::int32_t* found) {
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kPerBlock + threadIdx.x;
  bool bad = false;
  for (int k = 0; k < kPerThread; ++k) {
    const std::int64_t i = first + k * kThreads;
    bad = bad || (i < count && !(fabsf(gradient[i]) <= 3.402823466e38f));
  }
  if (__any_sync(kAllLanes, bad) && threadIdx.x % 32 == 0) atomicMax(found, std::int32_t{1});
}

}  // namespace

void find_nonfinite(const float* gradient, std::int64_t count, std::int32_t* found, cudaStream_t stream) {
  launch("find_nonfinite", find_nonfinite_kernel, {.x = blocks_for(count, kPerBlock), .threads = kThreads}, stream,
      gradient, count, found);
}

}  // namespace ttt::kernels::cuda
