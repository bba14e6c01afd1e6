// From the model's prediction on a batch to detections in the pixels of the original files.
#pragma once

#include <cstdint>
#include <vector>

#include "core/parallel.h"
#include "data/host_batch.h"
#include "eval/coco/evaluate.h"
#include "model/mask_rcnn.h"

namespace ttt::eval {

// A prediction in host memory, and what of its batch places it in the files' pixels: the batch and the model may change meanwhile.
struct Predicted {
  Predicted(const model::Prediction& prediction, const data::HostBatch& batch);  // waits for the device

  at::Tensor boxes, score, label, count;             // as model::Detected
  at::Tensor masks;                                  // [M, size, size] probabilities
  std::vector<std::int64_t> image_id;                // [N], -1: filler of a short batch
  std::vector<std::int32_t> image_size, original_size;  // [N, 2] height, width, resized and of the file
};

// Boxes are scaled from the resized image to the file's size, masks pasted there (probability > 0.5) and run-length encoded.
// category_of[label - 1] is the COCO id. Images with id -1 give nothing.
// legacy: a box covers x2 - x1 + 1 pixels.
std::vector<coco::Detection> detections_of(const Predicted& predicted, const std::vector<std::int64_t>& category_of, bool legacy, ThreadPool* pool);

}  // namespace ttt::eval
