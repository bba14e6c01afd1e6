#include "eval/detector.h"

#include "data/image_batch.h"

namespace ttt::eval {

std::vector<coco::Detection> Detector::operator()(const model::MaskRcnn& model, const FedBatch& batch) const {
  return detections_of(model.predict(batch.inputs), batch.frame, model.ops(), category_of, legacy_boxes);
}

std::vector<coco::Detection> Detector::operator()(const model::MaskRcnn& model, const data::RgbImage& image,
    const data::DataSettings& settings, const std::string& name) const {
  const data::HostBatch host = data::image_batch(image, settings, name);
  model::CopyStream stream(device, /*own=*/false);
  FedBatch batch = start_copies(host, stream, model::Preprocessor(data, model.ops(), device));
  finish_copies(batch, stream);
  return (*this)(model, batch);
}

}  // namespace ttt::eval
