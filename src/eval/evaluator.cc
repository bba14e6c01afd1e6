#include "eval/evaluator.h"

#include <algorithm>
#include <chrono>

namespace ttt::eval {

Evaluator::Evaluator(const data::ShardSet& images, const EvaluatorConfig& config, comm::Communicator& comm, std::shared_ptr<ThreadPool> pool,
                     const at::Device& device)
    : images_(images), config_(config), comm_(comm), detector_{.legacy_boxes = config.legacy_boxes, .device = device, .data = config.data, .pool = std::move(pool)} {
  for (const ttt::coco::Category& c : images.categories()) detector_.category_of.push_back(c.id);
  if (!device.is_cpu()) beside_ = std::make_unique<ThreadPool>(detector_.pool ? detector_.pool->threads() : 1);
  if (comm.rank() == 0) truth_ = std::make_unique<coco::GroundTruth>(images.ground_truth());
}

std::vector<coco::Detection> Evaluator::detect(const model::MaskRcnn& model) {
  const auto order = std::make_shared<data::EvalOrder>(
      images_, data::OrderSettings{.global_batch = config_.batch * comm_.size(), .rank = comm_.rank(), .ranks = comm_.size()});
  data::Loader loader(images_, config_.data, order, {.targets = false});
  std::vector<coco::Detection> mine;
  std::future<std::vector<coco::Detection>> placing;  // of the batch before, by beside_
  const auto add = [&](const std::vector<coco::Detection>& found) { mine.insert(mine.end(), found.begin(), found.end()); };
  while (const data::HostBatch* host = loader.next()) {
    Predicted predicted = detector_.predict(model, *host);
    if (placing.valid()) add(placing.get());
    if (beside_)
      placing = std::async(std::launch::async, [this, p = std::move(predicted)] { return detector_.detections(p, beside_.get()); });
    else
      add(detector_.detections(predicted, detector_.pool.get()));
    if (config_.batches_done) ++*config_.batches_done;
  }
  if (placing.valid()) add(placing.get());
  return mine;
}

void Evaluator::start(const model::MaskRcnn& model) {
  std::vector<std::string> parts = comm_.gather(coco::serialise(detect(model)), 0);
  if (comm_.rank() != 0) return;
  scoring_ = std::async(std::launch::async, [this, parts = std::move(parts)] {
    std::vector<coco::Detection> all;
    for (const std::string& part : parts) {
      auto d = coco::deserialise(part);
      std::move(d.begin(), d.end(), std::back_inserter(all));
    }
    // By image, as one rank alone would list them: ties in score are broken by this order.
    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.image_id < b.image_id; });
    const int threads = detector_.pool ? detector_.pool->threads() : 1;
    return AveragePrecision{.bbox = coco::evaluate(*truth_, all, coco::IouType::kBbox, {.threads = threads}).stats,
                            .segm = coco::evaluate(*truth_, all, coco::IouType::kSegm, {.threads = threads}).stats};
  });
}

bool Evaluator::scored() const { return !scoring_.valid() || scoring_.wait_for(std::chrono::seconds(0)) == std::future_status::ready; }

AveragePrecision Evaluator::finish() {
  AveragePrecision ap;
  if (comm_.rank() == 0) ap = scoring_.get();
  comm_.broadcast(&ap, sizeof ap, 0);
  return ap;
}

}  // namespace ttt::eval
