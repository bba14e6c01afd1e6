#include "eval/evaluator.h"

#include <algorithm>
#include <chrono>

namespace ttt::eval {

Evaluator::Evaluator(const data::ShardSet& images, const EvaluatorConfig& config, comm::Communicator& comm, int threads,
    const at::Device& device)
    : images_(images), config_(config),
      comm_(comm), detector_{.legacy_boxes = config.legacy_boxes, .device = device, .data = config.data},
      threads_(threads) {
  for (const ttt::coco::Category& c : images.categories()) detector_.category_of.push_back(c.id);
  if (comm.rank() == 0) truth_ = std::make_unique<coco::GroundTruth>(images.ground_truth());
}

std::vector<coco::Detection> Evaluator::detect(const model::MaskRcnn& model) {
  const auto order = std::make_shared<data::EvalOrder>(images_,
      data::OrderSettings{.global_batch = config_.batch * comm_.size(), .rank = comm_.rank(), .ranks = comm_.size()});
  data::Loader loader(images_, config_.data, order, {.targets = false});
  std::vector<coco::Detection> mine;
  while (const data::HostBatch* host = loader.next()) {
    std::vector<coco::Detection> found = detector_(model, *host);
    std::move(found.begin(), found.end(), std::back_inserter(mine));
    if (config_.batches_done) ++*config_.batches_done;
  }
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
    return AveragePrecision{.bbox = coco::evaluate(*truth_, all, coco::IouType::kBbox, {.threads = threads_}).stats,
        .segm = coco::evaluate(*truth_, all, coco::IouType::kSegm, {.threads = threads_}).stats};
  });
}

bool Evaluator::scored() const {
  return !scoring_.valid() || scoring_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

AveragePrecision Evaluator::finish() {
  AveragePrecision ap;
  if (comm_.rank() == 0) ap = scoring_.get();
  comm_.broadcast(&ap, sizeof ap, 0);
  return ap;
}

}  // namespace ttt::eval
