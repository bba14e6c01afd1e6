#include "eval/detector.h"

#include <ATen/ops/from_blob.h>

#include "data/image_batch.h"
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

std::vector<coco::Detection> Detector::operator()(const model::MaskRcnn& model, const data::HostBatch& batch) const {
  return detections_of(model.predict(device_batch(batch, device)), batch, category_of, legacy_boxes, pool.get());
}

std::vector<coco::Detection> Detector::operator()(const model::MaskRcnn& model, const data::RgbImage& image, const data::DataSettings& settings,
                                                  const std::string& name) const {
  return (*this)(model, data::image_batch(image, settings, name));
}

}  // namespace ttt::eval
