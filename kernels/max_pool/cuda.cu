// Offset, ReLU and max pooling: a thread takes 16 bytes of channels of one result, from nine pixels that its neighbours
// read too, so that most loads hit the cache.
#include "kernels/common/launch.h"
#include "kernels/common/relu.h"
#include "kernels/common/vector.h"
#include "kernels/max_pool/max_pool.h"
#include "kernels/max_pool/window.h"

namespace ttt::kernels::cuda {
namespace {

constexpr int kThreads = 256;

template <class T, int kWidth> __global__ void __launch_bounds__(kThreads)
    offset_relu_pool_kernel(MaxPoolParams p, const T* x, const float* offset, T* y) {
  using Vector = Pack<T, kWidth>;
  const std::int64_t vectors = p.channels / kWidth, rows = pooled_size(p.height), columns = pooled_size(p.width);
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= p.images * rows * columns * vectors) return;
  const std::int64_t vector = i % vectors, pixel = i / vectors, column = pixel % columns, row = pixel / columns % rows,
                     image = pixel / columns / rows;
  const Range vertical = window_of(row, p.height), horizontal = window_of(column, p.width);
  const Vector* from = reinterpret_cast<const Vector*>(x) + image * p.height * p.width * vectors + vector;
  // Nine loads are open at once: beyond the edge the nearest pixel is read again, which changes no maximum.
  float most[kWidth];
#pragma unroll
  for (int v = 0; v < 3; ++v)
#pragma unroll
    for (int u = 0; u < 3; ++u) {
      const std::int64_t at_y = min(vertical.begin + v, vertical.end - 1),
                         at_x = min(horizontal.begin + u, horizontal.end - 1);
      float own[kWidth];
      widen_all(from[(at_y * p.width + at_x) * vectors], own);
#pragma unroll
      for (int k = 0; k < kWidth; ++k) most[k] = v == 0 && u == 0 ? own[k] : larger(most[k], own[k]);
    }
#pragma unroll
  for (int k = 0; k < kWidth; ++k) most[k] = relu(most[k] + offset[vector * kWidth + k]);
  const Vector value = packed<T, kWidth>(most);
  reinterpret_cast<Vector*>(y)[i] = value;
}

}  // namespace

template <class T>
void offset_relu_pool(const MaxPoolParams& p, const T* x, const float* offset, T* y, cudaStream_t stream) {
  constexpr int kWide = 16 / sizeof(T);
  const bool wide = takes_packs<T, kWide>(p.channels, x) && takes_packs<T, kWide>(p.channels, static_cast<const T*>(y));
  const std::int64_t results = p.images * pooled_size(p.height) * pooled_size(p.width);
  launch("offset_relu_pool", wide ? offset_relu_pool_kernel<T, kWide> : offset_relu_pool_kernel<T, 1>,
      {.x = blocks_for(results * p.channels / (wide ? kWide : 1), kThreads), .threads = kThreads}, stream, p, x, offset,
      y);
}

template void offset_relu_pool(const MaxPoolParams&, const float*, const float*, float*, cudaStream_t);
template void offset_relu_pool(const MaxPoolParams&, const Bfloat16*, const float*, Bfloat16*, cudaStream_t);
template void offset_relu_pool(const MaxPoolParams&, const Float16*, const float*, Float16*, cudaStream_t);

}  // namespace ttt::kernels::cuda
