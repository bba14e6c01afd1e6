// Resize, flip, normalisation and padding on the device: DataSettings::transform = device.
#pragma once

#include "data/settings.h"
#include "models/batch.h"
#include "models/ops/detection_ops.h"

namespace ttt::model {

class ImagePlacer {
 public:
  // Copies a table of 3 KB to `device`, for which the host waits.
  ImagePlacer(const data::DataSettings& settings, const DetectionOps& ops, const at::Device& device);

  // Makes batch.images of batch.raw, whose tensors lie on the device, and lets go of these; does nothing where there are images already. On the
  // current stream, without waiting.
  void operator()(DeviceBatch& batch) const;

 private:
  bool antialias_, bgr_;
  decltype(DetectionOps::preprocess) place_;
  at::Tensor values_;  // [3, 256]
};

}  // namespace ttt::model
