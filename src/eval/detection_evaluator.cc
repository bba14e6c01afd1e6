#include "eval/detection_evaluator.h"

#include <algorithm>
#include <chrono>

#include "data/loader.h"
#include "eval/batch_feed.h"
#include "eval/mask_rcnn.h"

namespace ttt::eval {
namespace {

// pycocotools' order: AP, AP50, AP75, AP small, medium, large, AR 1, 10, 100, AR small, medium, large.
constexpr std::array<const char*, 12> kStats = {
    "AP", "AP50", "AP75", "APs", "APm", "APl", "AR1", "AR10", "AR100", "ARs", "ARm", "ARl"};

}  // namespace

DetectionEvaluator::DetectionEvaluator(const EvaluationInputs& inputs)
    : inputs_(inputs), model_(dynamic_cast<const model::MaskRcnn&>(inputs.model)),
      detector_(detector_of(model_.config(), inputs.images, inputs.data, inputs.device)) {
  if (inputs.comm.rank() == 0) truth_ = std::make_unique<coco::GroundTruth>(inputs.images.ground_truth());
}

std::vector<coco::Detection> DetectionEvaluator::detect() {
  comm::Communicator& comm = inputs_.comm;
  const auto order = std::make_shared<data::EvalOrder>(inputs_.images, inputs_.data,
      data::OrderSettings{.global_batch = inputs_.batch * comm.size(), .rank = comm.rank(), .ranks = comm.size()});
  data::Loader loader(inputs_.images, inputs_.data, order, {.targets = {.any = false}, .memory = inputs_.memory});
  BatchFeed feed(loader, inputs_.device, model::Preprocessor(inputs_.data, model_.ops(), inputs_.device));
  std::vector<coco::Detection> mine;
  while (const FedBatch* batch = feed.next()) {
    std::vector<coco::Detection> found = detector_(model_, *batch);
    std::move(found.begin(), found.end(), std::back_inserter(mine));
    if (inputs_.batches_done) ++*inputs_.batches_done;
  }
  return mine;
}

void DetectionEvaluator::start() {
  std::vector<std::string> parts = inputs_.comm.gather(coco::serialise(detect()), 0);
  if (inputs_.comm.rank() != 0) return;
  scoring_ = std::async(std::launch::async, [this, parts = std::move(parts)] {
    std::vector<coco::Detection> all;
    for (const std::string& part : parts) {
      auto d = coco::deserialise(part);
      std::move(d.begin(), d.end(), std::back_inserter(all));
    }
    // By image, as one rank alone would list them: ties in score are broken by this order.
    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.image_id < b.image_id; });
    std::array<double, 24> stats;
    const auto score = [&](coco::IouType type) {
      return coco::evaluate(*truth_, all, type, {.threads = inputs_.threads}).stats;
    };
    const auto boxes = score(coco::IouType::kBbox), masks = score(coco::IouType::kSegm);
    std::copy(masks.begin(), masks.end(), std::copy(boxes.begin(), boxes.end(), stats.begin()));
    return stats;
  });
}

bool DetectionEvaluator::scored() const {
  return !scoring_.valid() || scoring_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

result::Metrics DetectionEvaluator::finish() {
  std::array<double, 24> stats{};
  if (inputs_.comm.rank() == 0) stats = scoring_.get();
  inputs_.comm.broadcast(stats.data(), sizeof stats, 0);
  result::Metrics metrics;
  for (std::size_t i = 0; i < stats.size(); ++i)
    metrics.push_back({std::string(i < kStats.size() ? "bbox." : "segm.") + kStats[i % kStats.size()], stats[i]});
  return metrics;
}

}  // namespace ttt::eval
