// Detections of a batch from the box head's outputs (torchvision's postprocess_detections).
#pragma once

#include "kernels/box_coder/box_coder.h"

namespace ttt::kernels {

// Softmax scores and class boxes, NMS per class, then the best `detections` of each image. On a device at most 4096
// RoIs an image.
struct DetectionParams {
  std::int64_t images = 0, rois = 0, classes = 0;  // classes counts the background (class 0)
  float score_threshold = 0.05f, nms_threshold = 0.5f, min_size = 1e-2f;
  std::int64_t detections = 100;
  BoxCoderParams coder;  // weights 10, 10, 5, 5
};
struct DetectionsIn {
  const float* probabilities;      // [N, R, classes] softmax
  const float* deltas;             // [N, R, classes, 4]
  const float* rois;               // [N, R, 4]
  const std::int32_t* roi_count;   // [N]
  const std::int32_t* image_size;  // [N, 2] height, width
};
struct DetectionsOut {
  float* boxes;         // [N, detections, 4] in descending order of score, filler 0
  float* score;         // [N, detections]
  std::int32_t* label;  // [N, detections]
  std::int32_t* count;  // [N]
};

namespace host {
void detections(const DetectionParams& p, const DetectionsIn& in, const DetectionsOut& out, ThreadPool* pool = nullptr);
}
namespace cuda {
std::size_t detections_workspace(const DetectionParams& p);
void detections(const DetectionParams& p, const DetectionsIn& in, const DetectionsOut& out, void* workspace,
                cudaStream_t stream);
}  // namespace cuda

}  // namespace ttt::kernels
