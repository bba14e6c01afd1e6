// Mask R-CNN as a workload.
#pragma once

#include "eval/detector.h"
#include "eval/workload.h"
#include "models/mask_rcnn/config.h"

namespace ttt::eval {

struct DetectionTargets {
  double target_box_ap = 0.377, target_mask_ap = 0.339;

  template <class Self, class V> static void fields(Self& s, V&& v) {
    v("target_box_ap", s.target_box_ap,
        "box AP (IoU 0.50:0.95) at which the run has passed, together with target_mask_ap", between(0, 1));
    v("target_mask_ap", s.target_mask_ap, "mask AP that must be reached in the same evaluation", between(0, 1));
  }
};

const Workload& mask_rcnn();

// From a model of these settings to detections in the pixels of the files.
Detector detector_of(
    const model::ModelConfig& config, const data::ShardSet& images, const data::DataSettings& data, at::Device device);

}  // namespace ttt::eval
