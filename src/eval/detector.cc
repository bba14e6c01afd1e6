#include "eval/detector.h"

#include "data/image_batch.h"
#include "eval/postprocess.h"

namespace ttt::eval {
namespace {

// What a prediction reads of it.
model::DeviceBatch on_device(const data::HostBatch& host, const at::Device& device) {
  const model::DeviceBatch view = model::view_of(host);
  return {.images = view.images.to(device), .image_size = view.image_size.to(device), .image_id = view.image_id.to(device)};
}

}  // namespace

std::vector<coco::Detection> Detector::operator()(const model::MaskRcnn& model, const data::HostBatch& batch) const {
  return detections_of(model.predict(on_device(batch, device)), batch, category_of, legacy_boxes, pool.get());
}

std::vector<coco::Detection> Detector::operator()(const model::MaskRcnn& model, const data::RgbImage& image, const data::DataSettings& settings,
                                                  const std::string& name) const {
  return (*this)(model, data::image_batch(image, settings, name));
}

}  // namespace ttt::eval
