// COCO's average precision of a Mask R-CNN.
#pragma once

#include <future>
#include <memory>
#include <vector>

#include "eval/coco/evaluate.h"
#include "eval/detector.h"
#include "eval/workload.h"

namespace ttt::eval {

// Every rank predicts its share of the images. Rank 0 gathers the detections in the order of image ids and computes AP,
// which does therefore not depend on the number of ranks. AP is computed on threads of rank 0's, beside whatever the
// caller does between start() and finish().
class DetectionEvaluator final : public Evaluator {
 public:
  explicit DetectionEvaluator(const EvaluationInputs& inputs);
  void start() override;
  bool scored() const override;
  // pycocotools' twelve numbers in its order for boxes ("bbox.AP", ...) and masks ("segm.AP", ...); -1 where the ground
  // truth has no such object.
  result::Metrics finish() override;
  std::int64_t images() const override { return inputs_.images.size(); }

 private:
  std::vector<coco::Detection> detect();  // in this rank's images

  EvaluationInputs inputs_;
  const model::MaskRcnn& model_;
  Detector detector_;
  std::unique_ptr<coco::GroundTruth> truth_;     // on rank 0
  std::future<std::array<double, 24>> scoring_;  // on rank 0; last, so that its end is waited for before the rest goes
};

}  // namespace ttt::eval
