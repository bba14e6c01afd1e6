// The 3 x 3 pixels around chosen anchors of a pyramid, as rows of a matrix (im2col at chosen places), and the gradient
// of that. A convolution whose results are wanted at few places is a product with these rows.
#pragma once

#include "kernels/common/float16.h"
#include "kernels/common/levels.h"
#include "kernels/common/operation.h"

namespace ttt::kernels {

// Anchors are numbered by level, row, column and kind. A level has at most 16,384 x 16,384 pixels.
struct PatchParams {
  int levels = 1;
  std::int64_t height[kMaxLevels], width[kMaxLevels];  // of each feature map
  std::int64_t images = 0, channels = 0, kinds = 1;    // kinds: anchors of one pixel
  std::int64_t rows = 0;                               // anchors chosen of an image, fillers included
};
struct PatchRows {
  const std::int32_t* index;  // [N, rows] of the anchors
  const std::int32_t* count;  // [N]; later rows are fillers
};

// Forward
//   in:  features[l] [N, H_l, W_l, C]
//   out: patches [N * rows, 3, 3, C]; zero beyond the edge of a level, and in fillers
// Backward
//   in:  grad [N * rows, 3, 3, C]
//   out: grad_features[l] [N, H_l, W_l, C], to which it adds: the caller zeroes them
// A pixel's gradients are added to what it has in the order of rows, in float32.
namespace host {
void patches_forward(const PatchParams& p, const float* const* features, const PatchRows& rows, float* patches,
    ThreadPool* pool = nullptr);
void patches_backward(const PatchParams& p, const float* grad, const PatchRows& rows, float* const* grad_features,
    ThreadPool* pool = nullptr);
}  // namespace host

// T: float, Bfloat16 or Float16; a sum is rounded to T once. features, grad_features: host arrays of device pointers.
// There are no atomics: the first row that reads a pixel adds up those of the others. At most 12,288 rows an image.
namespace cuda {
template <class T> void patches_forward(
    const PatchParams& p, const T* const* features, const PatchRows& rows, T* patches, cudaStream_t stream);
template <class T> void patches_backward(
    const PatchParams& p, const T* grad, const PatchRows& rows, T* const* grad_features, cudaStream_t stream);
}  // namespace cuda

}  // namespace ttt::kernels
