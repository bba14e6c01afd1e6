#include "eval/postprocess.h"

#include "coco/rle.h"
#include "kernels/host/detection.h"

namespace ttt::eval {
namespace {

struct Row {
  std::int64_t image = 0, slot = 0;  // of the batch, of the image's detections
};

}  // namespace

Predicted::Predicted(const model::Prediction& prediction, const data::HostBatch& batch)
    : boxes(prediction.detected.boxes.to(at::kCPU)), score(prediction.detected.score.to(at::kCPU)), label(prediction.detected.label.to(at::kCPU)),
      count(prediction.detected.count.to(at::kCPU)), masks(prediction.masks.to(at::kCPU).contiguous()),
      image_id(batch.image_id.begin(), batch.image_id.end()), image_size(batch.image_size.begin(), batch.image_size.end()),
      original_size(batch.original_size.begin(), batch.original_size.end()) {}

std::vector<coco::Detection> detections_of(const Predicted& p, const std::vector<std::int64_t>& category_of, bool legacy, ThreadPool* pool) {
  const std::int64_t capacity = p.boxes.size(1);
  const int size = static_cast<int>(p.masks.size(1));
  std::vector<Row> rows;  // row i of `masks`
  for (std::int64_t n = 0; n < std::ssize(p.image_id); ++n)
    for (std::int64_t k = 0; k < p.count.const_data_ptr<std::int32_t>()[n]; ++k) rows.push_back({n, k});

  std::vector<coco::Detection> out(rows.size());
  parallel_for(pool, static_cast<std::int64_t>(rows.size()), [&](std::int64_t i) {
    const auto [n, k] = rows[i];
    if (p.image_id[n] < 0) return;
    const std::int64_t height = p.original_size[2 * n], width = p.original_size[2 * n + 1];
    const float ry = static_cast<float>(height) / static_cast<float>(p.image_size[2 * n]);
    const float rx = static_cast<float>(width) / static_cast<float>(p.image_size[2 * n + 1]);
    const float* b = p.boxes.const_data_ptr<float>() + (n * capacity + k) * 4;
    const float box[4] = {b[0] * rx, b[1] * ry, b[2] * rx, b[3] * ry};
    const float one = legacy ? 1.0f : 0.0f;
    coco::Detection& det = out[i];
    det.image_id = p.image_id[n];
    det.category_id = category_of[p.label.const_data_ptr<std::int32_t>()[n * capacity + k] - 1];
    det.score = p.score.const_data_ptr<float>()[n * capacity + k];
    det.bbox = {box[0], box[1], box[2] - box[0] + one, box[3] - box[1] + one};
    std::vector<std::uint8_t> bits(static_cast<std::size_t>(height * width));
    std::int32_t touched[4];
    kernels::host::paste_mask(size, p.masks.const_data_ptr<float>() + i * size * size, box, height, width, touched, bits.data(), height * width);
    det.mask = ttt::coco::encode_box(bits.data(), touched[0], touched[1], touched[2], touched[3], static_cast<std::uint32_t>(height),
                                     static_cast<std::uint32_t>(width));
  });
  std::erase_if(out, [](const coco::Detection& det) { return det.mask.height == 0; });
  return out;
}

}  // namespace ttt::eval
