#include "kernels/common/block.h"
#include "kernels/common/launch.h"
#include "planted.h"

namespace planted {
namespace {

constexpr int kThreads = 64;

// Memory that the grid sees.
__global__ void memory_kernel(Mistake m, float* in, float* out, float* workspace) {
  const int i = static_cast<int>(threadIdx.x);
  if (m != Mistake::kUnwrittenWorkspace || i != 5) workspace[i] = in[i];
  __syncthreads();
  const int next = m == Mistake::kReadBehindTheEnd ? i + 1 : (i + 1) % kThreads;
  const float value = workspace[i] + in[next];
  if (m == Mistake::kWriteToAnInput && i == 7) in[i] = value;
  const int at = m == Mistake::kWriteBehindTheEnd ? i + 1 : (m == Mistake::kWriteBeforeTheBeginning ? i - 1 : i);
  if (m == Mistake::kMisaligned && i == 0) *reinterpret_cast<float4*>(out + 1) = make_float4(0, 0, 0, 0);
  out[at] = value;
}

// Memory that the block sees.
__global__ void shared_kernel(Mistake m, const float* in, float* out) {
  __shared__ float own[kThreads];
  auto* dynamic = ttt::kernels::cuda::dynamic_shared<float>();
  const int i = static_cast<int>(threadIdx.x);
  if (m != Mistake::kUnwrittenShared || i != 5) own[i] = in[i];
  dynamic[m == Mistake::kSharedBehindTheEnd ? i + 1 : i] = in[i];
  if (m != Mistake::kMissingBarrier) __syncthreads();
  const float next = own[(i + 1) % kThreads];
  if (m != Mistake::kWriteAfterRead) __syncthreads();
  own[i] = next;
  out[i] = dynamic[i] + next;
}

__global__ void barrier_kernel(Mistake m, const float* in, float* out) {
  __shared__ float own[kThreads];
  const int i = static_cast<int>(threadIdx.x);
  own[i] = in[i];
  if (m == Mistake::kEndBeforeTheBarrier && i == 40) return;
  if (m == Mistake::kBarrierForSome) {
    if (i < 48) __syncthreads();
  } else if (m == Mistake::kBarriersAtTwoPlaces && i < 32) {
    __syncthreads();
  } else {
    __syncthreads();
  }
  out[i] = in[i] + own[i];
}

__global__ void counter_kernel(Mistake m, float* out, int* counter) {
  if (m == Mistake::kPlainCounter) {
    *counter += 1;
  } else {
    const int before = atomicAdd(counter, 1);
    if (m == Mistake::kOrderOfAtomics) out[before] = static_cast<float>(threadIdx.x);
  }
  if (m == Mistake::kPlainBesideAtomic && threadIdx.x == 9) *counter = 0;
  if (m == Mistake::kBlocksMeet && threadIdx.x == 0) out[0] = static_cast<float>(blockIdx.x);
}

__global__ void lanes_kernel(Mistake m, const float* in, float* out) {
  const int i = static_cast<int>(threadIdx.x), lane = i % 32;
  const unsigned all = ttt::kernels::cuda::kAllLanes;
  float value = in[i];
  if (m == Mistake::kMaskNamesAbsentLanes) {
    if (lane < 16) value = __shfl_xor_sync(all, value, 1);
  } else if (m == Mistake::kMaskLeavesCallerOut) {
    value = __shfl_xor_sync(0x0000FFFFu, value, 1);
  } else if (m == Mistake::kMaskLeavesSourceOut) {
    if (lane < 16) value = __shfl_sync(0x0000FFFFu, value, lane + 16);
  } else {
    if (lane < 16) value = __shfl_xor_sync(0x0000FFFFu, value, 1);  // half a warp, and its mask says so
    value += __shfl_down_sync(all, value, 1);
  }
  out[i] = value;
}

}  // namespace

void run(Mistake m, float* in, float* out, float* workspace, int* counter, int grid) {
  using ttt::kernels::cuda::launch;
  const bool memory = m <= Mistake::kMisaligned || m == Mistake::kUnwrittenWorkspace, any = m == Mistake::kNone;
  const bool barriers =
      m == Mistake::kBarrierForSome || m == Mistake::kBarriersAtTwoPlaces || m == Mistake::kEndBeforeTheBarrier;
  const bool counts = m == Mistake::kPlainCounter || m == Mistake::kPlainBesideAtomic || m == Mistake::kBlocksMeet ||
                      m == Mistake::kOrderOfAtomics;
  const bool lanes = m >= Mistake::kMaskLeavesCallerOut && m <= Mistake::kMaskNamesAbsentLanes;
  const ttt::kernels::cuda::Shape one{.threads = kThreads};
  if (any || lanes) launch("lanes", lanes_kernel, one, nullptr, m, in, out);
  if (any || barriers) launch("barrier", barrier_kernel, one, nullptr, m, in, out);
  if (any || counts) launch("counter", counter_kernel, {.x = grid, .threads = kThreads}, nullptr, m, out, counter);
  if (any || !(memory || barriers || counts || lanes))
    launch("shared", shared_kernel, {.threads = kThreads, .shared = kThreads * sizeof(float)}, nullptr, m, in, out);
  if (any || memory) launch("memory", memory_kernel, one, nullptr, m, in, out, workspace);
}

}  // namespace planted
