// Average precision of a model on the evaluation images, over all ranks.
#pragma once

#include <array>
#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "data/loader.h"
#include "data/shard_set.h"
#include "eval/coco/evaluate.h"
#include "eval/detector.h"
#include "models/mask_rcnn/mask_rcnn.h"

namespace ttt::eval {

// pycocotools' twelve numbers for boxes and masks.
struct AveragePrecision {
  std::array<double, 12> bbox{}, segm{};
};

struct EvaluatorConfig {
  data::DataSettings data;
  std::int64_t batch = 8;
  bool legacy_boxes = false;
  // grows with each batch that was predicted, for other threads to see; null: none asks
  std::atomic<std::int64_t>* batches_done = nullptr;
};

// Every rank predicts its share of the images; rank 0 gathers the detections in the order of image ids and computes AP,
// which does therefore not depend on the number of ranks; every rank returns the same numbers. AP is computed on
// threads of rank 0's, beside whatever the caller does between start() and finish().
class Evaluator {
 public:
  // `comm` is used within the collective calls only. threads: that compute AP.
  Evaluator(const data::ShardSet& images, const EvaluatorConfig& config, comm::Communicator& comm, int threads,
      const at::Device& device);
  // Collective. When it returns, the model may change.
  void start(const model::MaskRcnn& model);
  // Whether finish() would not wait; on ranks other than 0 always.
  bool scored() const;
  // Collective, once after each start().
  AveragePrecision finish();
  AveragePrecision evaluate(const model::MaskRcnn& model) {
    start(model);
    return finish();
  }
  std::int64_t images() const { return images_.size(); }
  const Detector& detector() const { return detector_; }

 private:
  std::vector<coco::Detection> detect(const model::MaskRcnn& model);  // in this rank's images

  const data::ShardSet& images_;
  EvaluatorConfig config_;
  comm::Communicator& comm_;
  Detector detector_;
  int threads_;
  std::unique_ptr<coco::GroundTruth> truth_;  // on rank 0
  std::future<AveragePrecision> scoring_;     // on rank 0; last, so that its end is waited for before the rest goes
};

}  // namespace ttt::eval
