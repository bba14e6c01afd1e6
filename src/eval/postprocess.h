// From the model's prediction on a batch to detections in the pixels of the original files.
#pragma once

#include <cstdint>
#include <vector>

#include "data/host_batch.h"
#include "eval/coco/evaluate.h"
#include "models/mask_rcnn/mask_rcnn.h"

namespace ttt::eval {

// Boxes are scaled from the resized image to the file's size, masks pasted there (probability > 0.5) and run-length
// encoded, by `ops`, where the prediction lies. category_of[label - 1] is the COCO id. Images with id -1, which fill a
// short batch up, give nothing. legacy: a box covers x2 - x1 + 1 pixels.
std::vector<coco::Detection> detections_of(const model::Prediction& prediction, const data::HostBatch& batch,
    const model::DetectionOps& ops, const std::vector<std::int64_t>& category_of, bool legacy);

}  // namespace ttt::eval
