#include "eval/evaluator.h"

#include <ATen/ops/from_blob.h>

#include <algorithm>

#include "eval/postprocess.h"

namespace ttt::eval {
namespace {

model::DeviceBatch device_batch(const data::HostBatch& h, const at::Device& device) {
  const auto tensor = [&](const auto& values, at::IntArrayRef shape, at::ScalarType dtype) {
    return at::from_blob(const_cast<void*>(static_cast<const void*>(values.data())), shape, dtype).to(device);
  };
  model::DeviceBatch batch;
  batch.images = tensor(h.images, {h.images_n, h.height, h.width, 3}, at::kFloat).permute({0, 3, 1, 2});
  batch.image_size = tensor(h.image_size, {h.images_n, 2}, at::kInt);
  batch.image_id = tensor(h.image_id, {h.images_n}, at::kLong);
  return batch;
}

}  // namespace

Evaluator::Evaluator(const data::ShardSet& images, const EvaluatorConfig& config, comm::Communicator& comm, std::shared_ptr<ThreadPool> pool,
                     const at::Device& device)
    : images_(images), config_(config), comm_(comm), pool_(std::move(pool)), device_(device) {
  for (const ttt::coco::Category& c : images.categories()) category_of_.push_back(c.id);
  if (comm.rank() == 0) truth_ = std::make_unique<coco::GroundTruth>(images.ground_truth());
}

AveragePrecision Evaluator::evaluate(const model::MaskRcnn& model) {
  const auto order = std::make_shared<data::EvalOrder>(
      images_, data::OrderSettings{.global_batch = config_.batch * comm_.size(), .rank = comm_.rank(), .ranks = comm_.size()});
  data::Loader loader(images_, config_.data, order, {.targets = false});
  std::vector<coco::Detection> mine;
  while (const data::HostBatch* host = loader.next()) {
    const model::Prediction prediction = model.predict(device_batch(*host, device_));
    auto found = detections_of(prediction, *host, category_of_, config_.legacy_boxes, pool_.get());
    std::move(found.begin(), found.end(), std::back_inserter(mine));
    if (config_.batches_done) ++*config_.batches_done;
  }
  AveragePrecision ap;
  const std::vector<std::string> parts = comm_.gather(coco::serialise(mine), 0);
  if (comm_.rank() == 0) {
    std::vector<coco::Detection> all;
    for (const std::string& part : parts) {
      auto d = coco::deserialise(part);
      std::move(d.begin(), d.end(), std::back_inserter(all));
    }
    // By image, as one rank alone would list them: ties in score are broken by this order.
    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.image_id < b.image_id; });
    const int threads = pool_ ? pool_->threads() : 1;
    ap.bbox = coco::evaluate(*truth_, all, coco::IouType::kBbox, {.threads = threads}).stats;
    ap.segm = coco::evaluate(*truth_, all, coco::IouType::kSegm, {.threads = threads}).stats;
  }
  comm_.broadcast(&ap, sizeof ap, 0);
  return ap;
}

}  // namespace ttt::eval
