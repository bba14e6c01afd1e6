// The gradients of offset, residual and ReLU behind a convolution, in one pass over memory. A warp has 32 rows, eight
// warps a block of 256 rows; a lane takes 16 bytes of a row at a time. Sums of blocks are added as batch_norm's are.
#include "kernels/batch_norm/batch_norm.h"
#include "kernels/batch_norm/totals.h"
#include "kernels/common/launch.h"
#include "kernels/common/vector.h"

namespace ttt::kernels::cuda {
namespace {

constexpr int kThreads = 32 * kSumGroups, kGroup = kSumRows / kSumGroups;
constexpr int kAtOnce = 4;  // rows whose loads a lane has open

float* sums_in(const BatchNormParams& p, Workspace&& memory) {  // [blocks of rows, channels]
  return memory.take<float>(blocks_for(p.rows, kSumRows) * p.channels);
}

template <class T, int kWidth> __global__ void __launch_bounds__(kThreads)
    offset_gradient_kernel(BatchNormParams p, const T* grad, const T* y, T* grad_x, float* sums) {
  using Vector = Pack<T, kWidth>;
  __shared__ float of_group[kSumGroups][32 * kWidth];
  const int lane = static_cast<int>(threadIdx.x) % 32, group = static_cast<int>(threadIdx.x) / 32;
  const std::int64_t vectors = p.channels / kWidth, column = static_cast<std::int64_t>(blockIdx.y) * 32 + lane;
  const std::int64_t begin = static_cast<std::int64_t>(blockIdx.x) * kSumRows + group * kGroup;
  const std::int64_t end = column < vectors ? min(begin + kGroup, p.rows) : begin;
  float sum[kWidth] = {};
  for (std::int64_t first = begin; first < end; first += kAtOnce) {
    float g[kAtOnce][kWidth], behind[kAtOnce][kWidth];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const std::int64_t at = min(first + i, end - 1) * vectors + column;
      widen_all(reinterpret_cast<const Vector*>(grad)[at], g[i]);
      if (p.relu) widen_all(reinterpret_cast<const Vector*>(y)[at], behind[i]);
    }
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      if (first + i >= end) break;
#pragma unroll
      for (int k = 0; k < kWidth; ++k) {
        if (p.relu) g[i][k] = behind[i][k] > 0.0f ? g[i][k] : 0.0f;
        sum[k] += g[i][k];
      }
      const Vector value = packed<T, kWidth>(g[i]);
      if (p.relu) reinterpret_cast<Vector*>(grad_x)[(first + i) * vectors + column] = value;
    }
  }
#pragma unroll
  for (int k = 0; k < kWidth; ++k) of_group[group][lane * kWidth + k] = sum[k];
  __syncthreads();
  for (int c = static_cast<int>(threadIdx.x); c < 32 * kWidth; c += kThreads) {
    const std::int64_t channel = static_cast<std::int64_t>(blockIdx.y) * 32 * kWidth + c;
    if (channel >= p.channels) return;
    float all = 0;
    for (int i = 0; i < kSumGroups; ++i) all += of_group[i][c];
    sums[blockIdx.x * p.channels + channel] = all;
  }
}

__global__ void __launch_bounds__(kTotalThreads)
    finish_offset(BatchNormParams p, const float* sums, float* grad_offset) {
  const Totals totals(p);
  const double sum = totals.of(sums);
  if (totals.finishes()) grad_offset[totals.channel()] = static_cast<float>(sum);
}

}  // namespace

std::size_t offset_gradient_workspace(const BatchNormParams& p) { return workspace_bytes(sums_in, p); }

template <class T> void offset_gradient(const BatchNormParams& p, const OffsetGradIn<T>& in,
    const OffsetGradOut<T>& out, void* workspace, cudaStream_t stream) {
  constexpr int kWide = 16 / sizeof(T);
  float* sums = sums_in(p, Workspace(workspace));
  const bool wide = takes_packs<T, kWide>(p.channels, in.grad_y) && takes_packs<T, kWide>(p.channels, in.y) &&
                    takes_packs<T, kWide>(p.channels, static_cast<const T*>(out.grad_x));
  launch("offset_gradient", wide ? offset_gradient_kernel<T, kWide> : offset_gradient_kernel<T, 1>,
      {.x = blocks_for(p.rows, kSumRows),
          .y = blocks_for(wide ? p.channels / kWide : p.channels, 32),
          .threads = kThreads},
      stream, p, in.grad_y, in.y, out.grad_x, sums);
  launch("finish_offset", finish_offset, by_totals(p), stream, p, sums, out.grad_offset);
}

#define TTT_OFFSET_GRADIENT(T)   \
  template void offset_gradient( \
      const BatchNormParams&, const OffsetGradIn<T>&, const OffsetGradOut<T>&, void*, cudaStream_t);
TTT_OFFSET_GRADIENT(float)
TTT_OFFSET_GRADIENT(Bfloat16)
TTT_OFFSET_GRADIENT(Float16)
#undef TTT_OFFSET_GRADIENT

}  // namespace ttt::kernels::cuda
