// From images to detections in the pixels of their files: what evaluation, pictures and predictions share.
#pragma once

#include <string>
#include <vector>

#include "data/jpeg.h"
#include "data/settings.h"
#include "eval/batch_feed.h"
#include "eval/coco/detection.h"
#include "eval/postprocess.h"
#include "models/mask_rcnn/mask_rcnn.h"

namespace ttt::eval {

struct Detector {
  std::vector<std::int64_t> category_of;  // [label - 1]: COCO's id
  bool legacy_boxes = false;              // a box covers x2 - x1 + 1 pixels
  at::Device device{at::kCPU};
  data::DataSettings data;  // of the batches

  // Of all images of a batch, image by image, each with falling score.
  std::vector<coco::Detection> operator()(const model::MaskRcnn& model, const FedBatch& batch) const;
  // Of one image by itself; image id 0. Throws UsageError where it does not fit the settings' padded size; `name`
  // begins the sentence.
  std::vector<coco::Detection> operator()(const model::MaskRcnn& model, const data::RgbImage& image,
      const data::DataSettings& settings, const std::string& name) const;
};

}  // namespace ttt::eval
