#include "eval/detector.h"

#include "data/image_batch.h"
#include "models/preprocessor.h"

namespace ttt::eval {
namespace {

// What a prediction reads of it.
model::DeviceBatch on_device(const data::HostBatch& host, const at::Device& device, const model::Preprocessor& place) {
  model::DeviceBatch b = model::view_of(host);
  b = {.images = b.images, .image_size = b.image_size, .image_id = b.image_id, .raw = b.raw};
  const auto move = [&](at::Tensor* t) { *t = t->to(device); };
  move(&b.image_size), move(&b.image_id);
  if (!b.raw.defined()) move(&b.images);
  else
    for (at::Tensor* t : b.raw.tensors()) move(t);
  place(b);
  return b;
}

}  // namespace

std::vector<coco::Detection> Detector::operator()(const model::MaskRcnn& model, const data::HostBatch& batch) const {
  const model::Prediction prediction =
      model.predict(on_device(batch, device, model::Preprocessor(data, model.ops(), device)));
  return detections_of(prediction, batch, model.ops(), category_of, legacy_boxes);
}

std::vector<coco::Detection> Detector::operator()(const model::MaskRcnn& model, const data::RgbImage& image,
    const data::DataSettings& settings, const std::string& name) const {
  return (*this)(model, data::image_batch(image, settings, name));
}

}  // namespace ttt::eval
