#include "models/image_placer.h"

#include <ATen/ops/from_blob.h>

#include "data/transform.h"

namespace ttt::model {

ImagePlacer::ImagePlacer(const data::DataSettings& settings, const DetectionOps& ops, const at::Device& device)
    : antialias_(settings.antialias), bgr_(settings.channels == "bgr"), place_(ops.preprocess) {
  data::PixelValues values = data::pixel_values(settings);
  values_ = at::from_blob(values.data(), {3, 256}, at::kFloat).clone().to(device);
}

void ImagePlacer::operator()(DeviceBatch& batch) const {
  if (!batch.raw.defined()) return;
  batch.images = place_(antialias_, bgr_, batch.raw, batch.image_size, values_);
  batch.raw = {};
}

}  // namespace ttt::model
