// Evaluation images with their ground truth on the left and a Mask R-CNN's detections on the right.
#pragma once

#include <vector>

#include "eval/detector.h"
#include "eval/workload.h"

namespace ttt::eval {

class DetectionGallery final : public Gallery {
 public:
  DetectionGallery(const EvaluationInputs& inputs, std::int64_t pictures);
  std::int64_t size() const override { return static_cast<std::int64_t>(subjects_.size()); }
  std::function<Picture()> predict(std::int64_t i) override;

 private:
  struct Subject {
    std::int64_t index = 0, id = 0;  // in the set; COCO's
    std::vector<ttt::coco::Annotation> truth;
    std::vector<ttt::coco::Rle> masks;  // of each
  };
  Picture draw(
      const Subject& subject, const data::RgbImage& image, const std::vector<coco::Detection>& detections) const;

  EvaluationInputs inputs_;
  const model::MaskRcnn& model_;
  Detector detector_;
  std::vector<Subject> subjects_;
  std::vector<std::string> category_name_;  // by COCO's id; "" where there is none
};

}  // namespace ttt::eval
