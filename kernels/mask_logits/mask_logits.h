// The end of the mask head (He et al. 2017): bias and ReLU behind its transposed convolution, and the logits of each
// row's own class. One pass over the largest activation of the head, where single operators take five.
#pragma once

#include "kernels/common/float16.h"
#include "kernels/common/operation.h"

namespace ttt::kernels {

// A transposed convolution of 2 x 2 and stride 2 is a product whose columns are the 2 x 2 pixels of an input pixel.
struct MaskLogitsParams {
  std::int64_t rows = 0, channels = 0, classes = 1;
  int pooled = 14;  // pixels on a side in front of the transposed convolution
};
template <class T> struct MaskLogitsIn {
  const T* blocks;            // [M, pooled, pooled, 2, 2, C] the product, without its bias
  const std::int32_t* label;  // [M] classes in [0, classes)
  const float* bias;          // [C] of the transposed convolution
  const float* weight;        // [classes, C]
};
template <class T> struct MaskLogitsGrad {
  T* blocks;  // as above
  float *bias, *weight;
  float* weight_bias;  // [classes]
};

// With y = max(0, blocks + bias):
// Forward
//   in:  in; weight_bias [classes]
//   out: logits [M, 2 * pooled, 2 * pooled] = sum over c of y * weight[label, c], + weight_bias[label]
// Backward
//   in:  in; grad, as logits
//   out: out, all of it written
// Sums are float32 and of one order, whatever the type and the device. Logits: channels 256 apart in turn, then by
// halves (c and c + 128, then + 64, ...). Gradients: kMaskChunks ranges of a row's pixels, eight of them joined, then
// these in the order of rows.
inline constexpr int kMaskColumns = 256, kMaskChunks = 32, kMaskJoined = 8;

namespace host {
void mask_logits_forward(const MaskLogitsParams& p, const MaskLogitsIn<float>& in, const float* weight_bias,
    float* logits, ThreadPool* pool = nullptr);
void mask_logits_backward(const MaskLogitsParams& p, const MaskLogitsIn<float>& in, const float* grad,
    const MaskLogitsGrad<float>& out, ThreadPool* pool = nullptr);
}  // namespace host

// T: float, Bfloat16 or Float16.
namespace cuda {
template <class T> void mask_logits_forward(
    const MaskLogitsParams& p, const MaskLogitsIn<T>& in, const float* weight_bias, float* logits, cudaStream_t stream);
std::size_t mask_logits_backward_workspace(const MaskLogitsParams& p);
template <class T> void mask_logits_backward(const MaskLogitsParams& p, const MaskLogitsIn<T>& in, const float* grad,
    const MaskLogitsGrad<T>& out, void* workspace, cudaStream_t stream);
}  // namespace cuda

}  // namespace ttt::kernels
