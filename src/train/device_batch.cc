#include "train/device_batch.h"

#include <ATen/ops/from_blob.h>

namespace ttt::train {
namespace {

template <class T>
at::Tensor tensor(const std::vector<T>& values, at::IntArrayRef shape, at::ScalarType dtype, const at::Device& device) {
  return at::from_blob(const_cast<T*>(values.data()), shape, dtype).to(device);
}

}  // namespace

model::DeviceBatch to_device(const data::HostBatch& h, const at::Device& device) {
  const std::int64_t n = h.images_n, g = h.gt_capacity;
  return {.images = tensor(h.images, {n, h.height, h.width, 3}, at::kFloat, device).permute({0, 3, 1, 2}),
          .image_size = tensor(h.image_size, {n, 2}, at::kInt, device),
          .image_id = tensor(h.image_id, {n}, at::kLong, device),
          .gt_box = tensor(h.gt_box, {n, g, 4}, at::kFloat, device),
          .gt_label = tensor(h.gt_label, {n, g}, at::kInt, device),
          .gt_count = tensor(h.gt_count, {n}, at::kInt, device),
          .masks = &h.masks};
}

}  // namespace ttt::train
