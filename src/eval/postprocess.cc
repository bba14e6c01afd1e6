#include "eval/postprocess.h"

#include <ATen/ops/empty.h>

#include <algorithm>

namespace ttt::eval {
namespace {

// In front of the others: a short batch is filled up at its end.
std::int64_t real_images(const data::HostBatch& batch) {
  return std::find(batch.image_id.begin(), batch.image_id.end(), -1) - batch.image_id.begin();
}

}  // namespace

std::vector<coco::Detection> detections_of(const model::Prediction& prediction, const data::HostBatch& batch,
    const model::DetectionOps& ops, const std::vector<std::int64_t>& category_of, bool legacy) {
  const model::Detected& d = prediction.detected;
  const at::Tensor boxes = d.boxes.to(at::kCPU), score = d.score.to(at::kCPU), label = d.label.to(at::kCPU),
                   count = d.count.to(at::kCPU);
  const std::int64_t capacity = boxes.size(1), images = real_images(batch);
  std::vector<coco::Detection> out;
  for (std::int64_t n = 0; n < images; ++n)
    for (std::int64_t k = n * capacity; k < n * capacity + count.const_data_ptr<std::int32_t>()[n]; ++k)
      out.push_back({.image_id = batch.image_id[n],
          .category_id = category_of[label.const_data_ptr<std::int32_t>()[k] - 1],
          .score = score.const_data_ptr<float>()[k]});

  const std::int64_t rows = std::ssize(out);
  const at::Tensor placed = at::empty({rows, 4}, at::kFloat), extent = at::empty({rows, 2}, at::kInt);
  for (std::int64_t n = 0, i = 0; n < images; ++n) {
    const std::int32_t height = batch.original_size[2 * n], width = batch.original_size[2 * n + 1];
    const float ry = static_cast<float>(height) / static_cast<float>(batch.image_size[2 * n]);
    const float rx = static_cast<float>(width) / static_cast<float>(batch.image_size[2 * n + 1]);
    const float one = legacy ? 1.0f : 0.0f;
    for (std::int64_t k = 0; k < count.const_data_ptr<std::int32_t>()[n]; ++k, ++i) {
      const float* b = boxes.const_data_ptr<float>() + (n * capacity + k) * 4;
      float* box = placed.mutable_data_ptr<float>() + 4 * i;
      box[0] = b[0] * rx, box[1] = b[1] * ry, box[2] = b[2] * rx, box[3] = b[3] * ry;
      out[i].bbox = {box[0], box[1], box[2] - box[0] + one, box[3] - box[1] + one};
      extent.mutable_data_ptr<std::int32_t>()[2 * i] = height,
                                                  extent.mutable_data_ptr<std::int32_t>()[2 * i + 1] = width;
    }
  }
  std::vector<ttt::coco::Rle> masks =
      ops.encode_masks(prediction.masks.narrow(0, 0, rows).contiguous(), placed, extent);
  for (std::int64_t i = 0; i < rows; ++i) out[i].mask = std::move(masks[i]);
  return out;
}

}  // namespace ttt::eval
