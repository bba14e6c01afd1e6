// RoIAlign over a feature pyramid (He et al. 2017; Lin et al. 2017 for the level).
#pragma once

#include "kernels/common/float16.h"
#include "kernels/common/levels.h"
#include "kernels/common/operation.h"

namespace ttt::kernels {

// Level of a RoI: clamp(floor(4 + log2(sqrt(area) / 224) + 1e-6), min_level, min_level + levels - 1), as torchvision;
// with one level always that one. A RoI with a NaN or infinite coordinate gives zeros and takes no gradient.
struct RoiAlignParams {
  int levels = 1;
  int min_level = 2;                // pyramid level of features[0]: P2
  std::int64_t height[kMaxLevels];  // of each feature map
  std::int64_t width[kMaxLevels];
  float scale[kMaxLevels];  // feature pixels per image pixel
  std::int64_t images = 0, channels = 0, rois = 0;
  int pooled = 7;            // output is pooled x pooled
  int sampling_ratio = 2;    // samples per bin and axis; 0: ceil(roi size / pooled), as torchvision's -1
  bool aligned = false;      // true: shift by half a pixel, no minimum size
  bool legacy_area = false;  // maskrcnn-benchmark's level: + 1 in the area's sides, and the eps inside the logarithm
  float canonical_size = 224.0f;
  int canonical_level = 4;
};

// Forward
//   in:  features[l] [N, H_l, W_l, C], rois [R, 4], roi_image [R] index of the image, negative: the row is zero
//   out: out [R, pooled, pooled, C]
// Backward, which adds to grad_features: the caller zeroes them
//   in:  grad_out [R, pooled, pooled, C], rois and roi_image as above
//   out: grad_features[l] [N, H_l, W_l, C]
namespace host {
void roi_align_forward(const RoiAlignParams& p, const float* const* features, const float* rois,
                       const std::int32_t* roi_image, float* out, ThreadPool* pool = nullptr);
void roi_align_backward(const RoiAlignParams& p, const float* grad_out, const float* rois,
                        const std::int32_t* roi_image, float* const* grad_features, ThreadPool* pool = nullptr);
}  // namespace host

// T: float, Bfloat16 or Float16; sums are float32, rounded to T once. features, grad_features: host arrays of device
// pointers. Backward takes at most 32 bins on a side and uses no atomics: each feature pixel has one owner, who visits
// the RoIs in turn. Where a RoI is turned inside out and p.aligned, two of its samples' weights are added before the
// product instead of after: the result differs from the reference implementation by rounding.
namespace cuda {
template <class T>
void roi_align_forward(const RoiAlignParams& p, const T* const* features, const float* rois,
                       const std::int32_t* roi_image, T* out, cudaStream_t stream);
std::size_t roi_align_backward_workspace(const RoiAlignParams& p);
template <class T>
void roi_align_backward(const RoiAlignParams& p, const T* grad_out, const float* rois, const std::int32_t* roi_image,
                        T* const* grad_features, void* workspace, cudaStream_t stream);
}  // namespace cuda

}  // namespace ttt::kernels
