// Average precision of a model on the evaluation images, over all ranks.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "core/parallel.h"
#include "data/loader.h"
#include "data/shard_set.h"
#include "eval/coco/evaluate.h"
#include "eval/detector.h"
#include "model/mask_rcnn.h"

namespace ttt::eval {

// pycocotools' twelve numbers for boxes and masks.
struct AveragePrecision {
  std::array<double, 12> bbox{}, segm{};
};

struct EvaluatorConfig {
  data::DataSettings data;
  std::int64_t batch = 8;
  bool legacy_boxes = false;
  std::atomic<std::int64_t>* batches_done = nullptr;  // grows with each batch that was predicted, for other threads to see; null: none asks
};

// Every rank predicts its share of the images; rank 0 gathers the detections in the order of image ids and computes AP, which does
// therefore not depend on the number of ranks; every rank returns the same numbers.
class Evaluator {
 public:
  Evaluator(const data::ShardSet& images, const EvaluatorConfig& config, comm::Communicator& comm, std::shared_ptr<ThreadPool> pool,
            const at::Device& device);
  AveragePrecision evaluate(const model::MaskRcnn& model);  // collective
  std::int64_t images() const { return images_.size(); }
  const Detector& detector() const { return detector_; }

 private:
  const data::ShardSet& images_;
  EvaluatorConfig config_;
  comm::Communicator& comm_;
  Detector detector_;
  std::unique_ptr<coco::GroundTruth> truth_;  // on rank 0
};

}  // namespace ttt::eval
