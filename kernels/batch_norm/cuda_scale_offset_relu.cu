// Scale, offset, residual and ReLU behind a convolution with frozen normalisation, in one pass over memory instead of
// one for each. A thread takes 16 bytes at a time, four times.
#include "kernels/batch_norm/batch_norm.h"
#include "kernels/common/launch.h"
#include "kernels/common/relu.h"
#include "kernels/common/vector.h"

namespace ttt::kernels::cuda {
namespace {

constexpr int kThreads = 256, kTimes = 4;

// Of one column of packs.
template <int kWidth> struct Affine {
  float scale[kWidth], offset[kWidth];

  __device__ void load(const float* scales, const float* offsets, int column) {
    constexpr int kPart = kWidth < 4 ? kWidth : 4, kParts = kWidth / kPart;  // of 16 bytes
    using Part = Pack<float, kPart>;
#pragma unroll
    for (int i = 0; i < kParts; ++i) {
      const Part o = reinterpret_cast<const Part*>(offsets)[column * kParts + i];
      Part s{};
      if (scales != nullptr) s = reinterpret_cast<const Part*>(scales)[column * kParts + i];
#pragma unroll
      for (int k = 0; k < kPart; ++k) scale[i * kPart + k] = s.value[k], offset[i * kPart + k] = o.value[k];
    }
  }
};

template <class T, int kWidth> __global__ void __launch_bounds__(kThreads) scale_offset_relu_kernel(
    BatchNormParams p, const T* x, const float* scale, const float* offset, const T* residual, T* y) {
  using Vector = Pack<T, kWidth>;
  const std::int64_t columns = p.channels / kWidth, vectors = p.rows * columns;
  std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kTimes * kThreads + threadIdx.x;
  auto column = static_cast<int>(i % columns);
  const int step = kThreads % static_cast<int>(columns);  // 0: one column a thread, as in every ResNet
  Affine<kWidth> affine;
#pragma unroll
  for (int time = 0; time < kTimes; ++time) {
    if (i >= vectors) return;
    if (time == 0 || step != 0) affine.load(scale, offset, column);
    float v[kWidth], r[kWidth] = {};
    widen_all(reinterpret_cast<const Vector*>(x)[i], v);
    if (residual != nullptr) widen_all(reinterpret_cast<const Vector*>(residual)[i], r);
#pragma unroll
    for (int k = 0; k < kWidth; ++k) {
      v[k] = scale != nullptr ? fmaf(v[k], affine.scale[k], affine.offset[k]) : v[k] + affine.offset[k];
      if (residual != nullptr) v[k] = v[k] + r[k];
      if (p.relu) v[k] = relu(v[k]);
    }
    reinterpret_cast<Vector*>(y)[i] = packed<T, kWidth>(v);
    i += kThreads;
    column += step;
    if (column >= columns) column -= static_cast<int>(columns);
  }
}

}  // namespace

template <class T>
void scale_offset_relu(const BatchNormParams& p, const ScaleOffsetIn<T>& in, T* y, cudaStream_t stream) {
  constexpr int kWide = 16 / sizeof(T);
  const bool wide = takes_packs<T, kWide>(p.channels, in.x) && takes_packs<T, kWide>(p.channels, in.residual) &&
                    takes_packs<T, kWide>(p.channels, y) && takes_packs<float, 4>(p.channels, in.scale) &&
                    takes_packs<float, 4>(p.channels, in.offset);
  const std::int64_t vectors = p.rows * p.channels / (wide ? kWide : 1);
  launch("scale_offset_relu", wide ? scale_offset_relu_kernel<T, kWide> : scale_offset_relu_kernel<T, 1>,
      {.x = blocks_for(vectors, std::int64_t{kThreads} * kTimes), .threads = kThreads}, stream, p, in.x, in.scale,
      in.offset, in.residual, y);
}

template void scale_offset_relu(const BatchNormParams&, const ScaleOffsetIn<float>&, float*, cudaStream_t);
template void scale_offset_relu(const BatchNormParams&, const ScaleOffsetIn<Bfloat16>&, Bfloat16*, cudaStream_t);
template void scale_offset_relu(const BatchNormParams&, const ScaleOffsetIn<Float16>&, Float16*, cudaStream_t);

}  // namespace ttt::kernels::cuda
