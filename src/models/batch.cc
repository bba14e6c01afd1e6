#include "models/batch.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

namespace ttt::model {

DeviceBatch view_of(const data::HostBatch& h) {
  const auto tensor = [](const auto& values, at::IntArrayRef shape, at::ScalarType dtype) {
    return at::from_blob(const_cast<void*>(static_cast<const void*>(values.data())), shape, dtype);
  };
  const auto flat = [&](const auto& values, at::ScalarType dtype) {
    return tensor(values, {static_cast<std::int64_t>(values.size())}, dtype);
  };
  const std::int64_t n = h.images_n, g = h.gt_capacity;
  const bool raw = h.images.empty();
  return {.images = raw ? at::Tensor() : tensor(h.images, {n, h.height, h.width, 3}, at::kFloat).permute({0, 3, 1, 2}),
      .image_size = tensor(h.image_size, {n, 2}, at::kInt),
      .image_id = tensor(h.image_id, {n}, at::kLong),
      .gt_box = tensor(h.gt_box, {n, g, 4}, at::kFloat),
      .gt_label = tensor(h.gt_label, {n, g}, at::kInt),
      .gt_count = tensor(h.gt_count, {n}, at::kInt),
      .masks = {.object_polygon = flat(h.masks.object_polygon, at::kInt),
          .polygon_vertex = flat(h.masks.polygon_vertex, at::kInt),
          .vertices = flat(h.masks.vertices, at::kFloat).view({-1, 2}),
          .bitmap_box = flat(h.masks.bitmap_box, at::kInt).view({-1, 4}),
          .bitmap_offset = flat(h.masks.bitmap_offset, at::kLong),
          .bitmap_bytes = flat(h.masks.bitmap_bytes, at::kByte)},
      .draw = {},
      .raw = !raw ? RawImages()
                  : RawImages{.bytes = flat(h.raw.bytes, at::kByte),
                        .offset = flat(h.raw.offset, at::kLong),
                        .size = tensor(h.raw.size, {n, 2}, at::kInt),
                        .flipped = flat(h.flipped, at::kByte),
                        .height = h.height,
                        .width = h.width}};
}

DeviceBatch part_of(const DeviceBatch& batch, std::int64_t first, std::int64_t count) {
  DeviceBatch part = batch;
  for (at::Tensor* t : {&part.images, &part.image_size, &part.image_id, &part.gt_box, &part.gt_label, &part.gt_count})
    *t = t->narrow(0, first, count);
  // Outlines and bitmaps are found by positions in arrays of the whole batch, which stay.
  const std::int64_t objects = batch.gt_box.size(1);
  part.masks.object_polygon = batch.masks.object_polygon.narrow(0, first * objects, count * objects + 1);
  part.masks.bitmap_box = batch.masks.bitmap_box.narrow(0, first * objects, count * objects);
  part.masks.bitmap_offset = batch.masks.bitmap_offset.narrow(0, first * objects, count * objects);
  return part;
}

at::Tensor draw_key(std::int64_t seed, std::int64_t step) {
  at::Tensor key = at::empty({2}, at::kLong);
  auto* values = key.mutable_data_ptr<std::int64_t>();
  values[0] = seed, values[1] = step;
  return key;
}

}  // namespace ttt::model
