// The end of a ResNet's stem whose weights are not trained (He et al. 2015): offset, ReLU and max pooling in one pass
// behind the convolution. Its result is read once, where single operators read or write it three times, and no index
// of a maximum is written.
#pragma once

#include "core/host_device.h"
#include "kernels/common/float16.h"
#include "kernels/common/operation.h"

namespace ttt::kernels {

// Windows of 3 x 3 pixels at every second pixel; beyond the edge there is nothing.
struct MaxPoolParams {
  std::int64_t images = 0, height = 0, width = 0, channels = 0;  // in front of the pooling
};
TTT_HD inline std::int64_t pooled_size(std::int64_t size) { return (size + 1) / 2; }

//   in:  x [N, H, W, C], offset [C]
//   out: y [N, pooled_size(H), pooled_size(W), C] = max(0, max of the window + offset)
// Adding and rounding keep an order, so the bits are those of pooling behind offset and ReLU. A NaN passes. T: float,
// Bfloat16 or Float16; the sum is float32, rounded to T once.
namespace host {
template <class T>
void offset_relu_pool(const MaxPoolParams& p, const T* x, const float* offset, T* y, ThreadPool* pool = nullptr);
}  // namespace host
namespace cuda {
template <class T>
void offset_relu_pool(const MaxPoolParams& p, const T* x, const float* offset, T* y, cudaStream_t stream);
}  // namespace cuda

}  // namespace ttt::kernels
