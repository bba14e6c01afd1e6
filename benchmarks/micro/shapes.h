// The sizes of two recipes: the default one (images of 128 pixels, a small model) and MLPerf's (800 x 1344, ResNet-50).
#pragma once

#include <cstdint>

namespace ttt::micro {

struct Detector {
  const char* name;
  std::int64_t images, height, width;                     // of a rank's batch
  std::int64_t pre_nms, post_nms, rpn_sample;             // for each image
  std::int64_t classes, rois, detections, positive_rois;  // of inference, of the mask head in training
};
inline constexpr Detector kDetectors[] = {{"default", 4, 128, 128, 400, 100, 64, 7, 50, 20, 16},
    {"mlperf", 2, 800, 1344, 2000, 1000, 256, 81, 1000, 100, 128}};

// RoIAlign in a rank's step: box head and mask head.
struct RoiShape {
  const char* name;
  std::int64_t images, height, width, channels, rois;
  int pooled;
};
inline constexpr RoiShape kRoiShapes[] = {{"default_box", 4, 128, 128, 64, 256, 7},
    {"default_mask", 4, 128, 128, 64, 64, 14}, {"mlperf_box", 2, 800, 1344, 256, 1024, 7},
    {"mlperf_mask", 2, 800, 1344, 256, 256, 14}};

}  // namespace ttt::micro
