// The mask head's end. Four blocks share a row (one RoI's 28 x 28 pixels). A warp takes pixels one after the other, a
// lane eight neighbouring channels, so a warp reads a pixel of 256 channels at once. The gradients of the weights leave
// the blocks as sums of a row; a block for each class adds those of its rows, in their order.
#include "core/error.h"
#include "kernels/common/block.h"
#include "kernels/common/launch.h"
#include "kernels/common/relu.h"
#include "kernels/common/vector.h"
#include "kernels/mask_logits/mask_logits.h"
#include "kernels/mask_logits/pixels.h"

namespace ttt::kernels::cuda {
namespace {

constexpr int kOwn = kMaskColumns / 32;                                          // channels of a lane
constexpr int kThreads = 32 * kMaskJoined, kBlocks = kMaskChunks / kMaskJoined;  // a warp for each range of pixels
constexpr int kAtOnce = 4;                                                       // pixels whose loads a warp has open

// The lane's channels from `c` on. kWidth divides kOwn; with 1, `channels` may be any number.
template <class T, int kWidth>
__device__ void load_own(const T* p, std::int64_t c, std::int64_t channels, float (&v)[kOwn]) {
  using Vector = Pack<T, kWidth>;
#pragma unroll
  for (int i = 0; i < kOwn / kWidth; ++i) {
    float part[kWidth] = {};
    if (c + i * kWidth < channels) widen_all(*reinterpret_cast<const Vector*>(p + c + i * kWidth), part);
#pragma unroll
    for (int k = 0; k < kWidth; ++k) v[i * kWidth + k] = part[k];
  }
}
template <class T, int kWidth>
__device__ void store_own(T* p, std::int64_t c, std::int64_t channels, const float (&v)[kOwn]) {
  using Vector = Pack<T, kWidth>;
#pragma unroll
  for (int i = 0; i < kOwn / kWidth; ++i) {
    float part[kWidth];
#pragma unroll
    for (int k = 0; k < kWidth; ++k) part[k] = v[i * kWidth + k];
    const Vector value = packed<T, kWidth>(part);
    if (c + i * kWidth < channels) reinterpret_cast<Vector*>(p)[c / kWidth + i] = value;
  }
}
// The same of float32, 16 bytes at most.
template <int kWidth> constexpr int kOfFloats = kWidth < 4 ? kWidth : 4;

// Lanes that have channels, as a power of two.
__device__ int lanes_of(const MaskLogitsParams& p) {
  int lanes = 1;
  while (lanes < 32 && lanes * kOwn < p.channels) lanes *= 2;
  return lanes;
}

// Sum of the first lanes' values by halves: of lanes, from lanes / 2 apart to 1, then of a lane's eight. With eight or
// more, a lane keeps half of its values in each of the first three steps, and gives the other half away. All these
// lanes have the sum.
__device__ float sum_of_lanes(int lanes, float (&v)[kOwn]) {
  if (lanes < kOwn) {
    for (int step = lanes / 2; step >= 1; step /= 2)
#pragma unroll
      for (int k = 0; k < kOwn; ++k) v[k] += __shfl_xor_sync(kAllLanes, v[k], step);
#pragma unroll
    for (int half = kOwn / 2; half >= 1; half /= 2)
#pragma unroll
      for (int k = 0; k < half; ++k) v[k] += v[k + half];
    return v[0];
  }
  int step = lanes / 2;
#pragma unroll
  for (int half = kOwn / 2; half >= 1; half /= 2, step /= 2) {
    const bool upper_half = (threadIdx.x & static_cast<unsigned>(step)) != 0;
#pragma unroll
    for (int k = 0; k < half; ++k) {
      const float kept = upper_half ? v[k + half] : v[k], given = upper_half ? v[k] : v[k + half];
      v[k] = kept + __shfl_xor_sync(kAllLanes, given, step);
    }
  }
  float sum = v[0];
  for (; step >= 1; step /= 2) sum += __shfl_xor_sync(kAllLanes, sum, step);
  for (int of_values = lanes / 2; of_values >= lanes / kOwn; of_values /= 2)
    sum += __shfl_xor_sync(kAllLanes, sum, of_values);
  return sum;
}

// The row, the class and the pixels of a warp.
template <class T> struct Part {
  std::int64_t row;
  int label, lane, warp;
  PixelRange pixels;
  const T* x;           // of the row
  const float* weight;  // of its class
  __device__ Part(const MaskLogitsParams& p, const MaskLogitsIn<T>& in)
      : row(blockIdx.x), label(in.label[row]), lane(static_cast<int>(threadIdx.x) % 32),
        warp(static_cast<int>(threadIdx.x) / 32),
        pixels(chunk_of(p, static_cast<int>(blockIdx.y) * kMaskJoined + warp)),
        x(in.blocks + row * pixels_of(p) * p.channels), weight(in.weight + label * p.channels) {}
};

template <class T, int kWidth> __global__ void __launch_bounds__(kThreads)
    mask_logits_forward_kernel(MaskLogitsParams p, MaskLogitsIn<T> in, const float* weight_bias, float* logits) {
  const Part<T> part(p, in);
  float* out = logits + part.row * pixels_of(p);
  const float offset = weight_bias[part.label];
  const int lanes = lanes_of(p);
  float bias[kOwn], weight[kOwn];
  for (int first = part.pixels.begin; first < part.pixels.end; first += kAtOnce) {
    float sum[kAtOnce][kOwn] = {};
    for (std::int64_t column = 0; column < p.channels; column += kMaskColumns) {
      const std::int64_t c = column + part.lane * kOwn;
      if (first == part.pixels.begin || p.channels > kMaskColumns) {
        load_own<float, kOfFloats<kWidth>>(in.bias, c, p.channels, bias);
        load_own<float, kOfFloats<kWidth>>(part.weight, c, p.channels, weight);
      }
      float x[kAtOnce][kOwn];
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i)
        load_own<T, kWidth>(part.x + min(first + i, part.pixels.end - 1) * p.channels, c, p.channels, x[i]);
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i)
#pragma unroll
        for (int k = 0; k < kOwn; ++k) sum[i][k] = fmaf(relu(x[i][k] + bias[k]), weight[k], sum[i][k]);
    }
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const float value = sum_of_lanes(lanes, sum[i]) + offset;
      if (part.lane == i % lanes && first + i < part.pixels.end) out[logit_of(p, first + i)] = value;
    }
  }
}

// Sums over a row's pixels, kBlocks each; and of classes.
struct Sums {
  float *bias, *weight;  // [M, kBlocks, C]
  float* grad;           // [M, kBlocks]
  float* of_class;       // [classes, C] of the bias
};
Sums sums_in(const MaskLogitsParams& p, Workspace&& memory) {
  Sums s{};
  s.bias = memory.take<float>(p.rows * kBlocks * p.channels);
  s.weight = memory.take<float>(p.rows * kBlocks * p.channels);
  s.grad = memory.take<float>(p.rows * kBlocks);
  s.of_class = memory.take<float>(p.classes * p.channels);
  return s;
}

// A thread's column of the block's sums, the warps' in their order.
__device__ float over_warps(const float (&own)[kOwn]) {
  __shared__ float sums[kMaskJoined][kMaskColumns];
  __syncthreads();  // the ones before may still be read
#pragma unroll
  for (int k = 0; k < kOwn; ++k) sums[threadIdx.x / 32][threadIdx.x % 32 * kOwn + k] = own[k];
  __syncthreads();
  float sum = 0;
  for (int w = 0; w < kMaskJoined; ++w) sum += sums[w][threadIdx.x];
  return sum;
}

template <class T, int kWidth> __global__ void __launch_bounds__(kThreads)
    mask_logits_backward_kernel(MaskLogitsParams p, MaskLogitsIn<T> in, const float* grad, T* grad_blocks, Sums sums) {
  __shared__ float of_grad[kMaskJoined];
  const Part<T> part(p, in);
  const float* g = grad + part.row * pixels_of(p);
  T* out = grad_blocks + part.row * pixels_of(p) * p.channels;
  const std::int64_t at = part.row * kBlocks + blockIdx.y;
  for (std::int64_t column = 0; column < p.channels; column += kMaskColumns) {
    const std::int64_t c = column + part.lane * kOwn;
    float bias[kOwn], weight[kOwn], sum_bias[kOwn] = {}, sum_weight[kOwn] = {}, sum_grad = 0;
    load_own<float, kOfFloats<kWidth>>(in.bias, c, p.channels, bias);
    load_own<float, kOfFloats<kWidth>>(part.weight, c, p.channels, weight);
    for (int first = part.pixels.begin; first < part.pixels.end; first += kAtOnce) {
      float x[kAtOnce][kOwn], own[kAtOnce];
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        const int pixel = min(first + i, part.pixels.end - 1);
        load_own<T, kWidth>(part.x + pixel * p.channels, c, p.channels, x[i]);
        own[i] = g[logit_of(p, pixel)];
      }
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        if (first + i >= part.pixels.end) break;
        sum_grad += own[i];
        float d[kOwn];
#pragma unroll
        for (int k = 0; k < kOwn; ++k) {
          const float v = x[i][k] + bias[k];
          d[k] = v > 0.0f ? own[i] * weight[k] : 0.0f;
          sum_bias[k] += d[k];
          sum_weight[k] = fmaf(own[i], relu(v), sum_weight[k]);
        }
        store_own<T, kWidth>(out + (first + i) * p.channels, c, p.channels, d);
      }
    }
    const float all_bias = over_warps(sum_bias), all_weight = over_warps(sum_weight);
    const std::int64_t own_channel = column + threadIdx.x;
    if (own_channel < p.channels)
      sums.bias[at * p.channels + own_channel] = all_bias, sums.weight[at * p.channels + own_channel] = all_weight;
    if (column > 0) continue;
    if (part.lane == 0) of_grad[part.warp] = sum_grad;
    __syncthreads();
    if (threadIdx.x != 0) continue;
    float all_grad = 0;
    for (int w = 0; w < kMaskJoined; ++w) all_grad += of_grad[w];
    sums.grad[at] = all_grad;
  }
}

// A block for a class and kThreads channels.
__global__ void __launch_bounds__(kThreads)
    sum_classes(MaskLogitsParams p, const std::int32_t* label, Sums sums, float* weight, float* weight_bias) {
  __shared__ std::int32_t hits[kThreads];
  __shared__ int scratch[33];
  const auto k = static_cast<std::int32_t>(blockIdx.x);
  const std::int64_t c = static_cast<std::int64_t>(blockIdx.y) * kThreads + threadIdx.x;
  float of_bias = 0, of_weight = 0, of_grad = 0;
  for (std::int64_t base = 0; base < p.rows; base += kThreads) {
    const std::int64_t row = base + threadIdx.x;
    const bool hit = row < p.rows && label[row] == k;
    int count = 0;
    const int at = block_exclusive_sum(hit, scratch, count);
    if (hit) hits[at] = static_cast<std::int32_t>(row);
    __syncthreads();
    for (int h = 0; h < count; ++h)
#pragma unroll
      for (int i = 0; i < kBlocks; ++i) {
        const std::int64_t sum = static_cast<std::int64_t>(hits[h]) * kBlocks + i;
        of_grad += sums.grad[sum];
        if (c >= p.channels) continue;
        of_bias += sums.bias[sum * p.channels + c];
        of_weight += sums.weight[sum * p.channels + c];
      }
    __syncthreads();
  }
  if (c < p.channels) sums.of_class[k * p.channels + c] = of_bias, weight[k * p.channels + c] = of_weight;
  if (c == 0) weight_bias[k] = of_grad;
}

__global__ void __launch_bounds__(kThreads) sum_bias_over_classes(MaskLogitsParams p, Sums sums, float* bias) {
  const std::int64_t c = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (c >= p.channels) return;
  float sum = 0;
  for (std::int64_t k = 0; k < p.classes; ++k) sum += sums.of_class[k * p.channels + c];
  bias[c] = sum;
}

template <class T> constexpr int kWide = 16 / sizeof(T);

template <class T> bool takes_wide(const MaskLogitsParams& p, const MaskLogitsIn<T>& in) {
  if (p.rows > 0x7FFFFFFF || p.pooled < 1 || p.pooled > 8192)
    throw UsageError("Mask logits take less than 2^31 rows of at most 8192 pixels on a side. Lower the batch.");
  return takes_packs<T, kOwn>(p.channels, in.blocks) && takes_packs<float, 4>(p.channels, in.bias) &&
         takes_packs<float, 4>(p.channels, in.weight);
}

}  // namespace

template <class T> void mask_logits_forward(const MaskLogitsParams& p, const MaskLogitsIn<T>& in,
    const float* weight_bias, float* logits, cudaStream_t stream) {
  launch("mask_logits_forward",
      takes_wide(p, in) ? mask_logits_forward_kernel<T, kWide<T>> : mask_logits_forward_kernel<T, 1>,
      {.x = p.rows, .y = kBlocks, .threads = kThreads}, stream, p, in, weight_bias, logits);
}

std::size_t mask_logits_backward_workspace(const MaskLogitsParams& p) { return workspace_bytes(sums_in, p); }

template <class T> void mask_logits_backward(const MaskLogitsParams& p, const MaskLogitsIn<T>& in, const float* grad,
    const MaskLogitsGrad<T>& out, void* workspace, cudaStream_t stream) {
  const Sums sums = sums_in(p, Workspace(workspace));
  const bool wide = takes_wide(p, in) && takes_packs<T, kOwn>(p.channels, out.blocks);
  launch("mask_logits_backward", wide ? mask_logits_backward_kernel<T, kWide<T>> : mask_logits_backward_kernel<T, 1>,
      {.x = p.rows, .y = kBlocks, .threads = kThreads}, stream, p, in, grad, out.blocks, sums);
  launch("sum_classes", sum_classes, {.x = p.classes, .y = blocks_for(p.channels, kThreads), .threads = kThreads},
      stream, p, in.label, sums, out.weight, out.weight_bias);
  launch("sum_bias_over_classes", sum_bias_over_classes, {.x = blocks_for(p.channels, kThreads), .threads = kThreads},
      stream, p, sums, out.bias);
}

#define TTT_MASK_LOGITS(T)                                                                  \
  template void mask_logits_forward(                                                        \
      const MaskLogitsParams&, const MaskLogitsIn<T>&, const float*, float*, cudaStream_t); \
  template void mask_logits_backward(                                                       \
      const MaskLogitsParams&, const MaskLogitsIn<T>&, const float*, const MaskLogitsGrad<T>&, void*, cudaStream_t);
TTT_MASK_LOGITS(float)
TTT_MASK_LOGITS(Bfloat16)
TTT_MASK_LOGITS(Float16)
#undef TTT_MASK_LOGITS

}  // namespace ttt::kernels::cuda
