// One rank's batch on the device, and what a step needs besides.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>

#include "data/host_batch.h"

namespace ttt::model {

// Ground truth masks: the arrays of data::PackedMasks as tensors.
struct Masks {
  at::Tensor object_polygon, polygon_vertex;  // [N * G + 1], [P + 1] int32
  at::Tensor vertices;                        // [V, 2]
  at::Tensor bitmap_box;                      // [N * G, 4] int32
  at::Tensor bitmap_offset;                   // [N * G] int64
  at::Tensor bitmap_bytes;                    // uint8
};

// Images that have not got their places in the batch yet: the arrays of data::RawImages, and the padded size.
struct RawImages {
  at::Tensor bytes;    // uint8
  at::Tensor offset;   // [N] int64
  at::Tensor size;     // [N, 2] int32
  at::Tensor flipped;  // [N] uint8
  std::int64_t height = 0, width = 0;
  bool defined() const { return bytes.defined(); }
  std::array<at::Tensor*, 4> tensors() { return {&bytes, &offset, &size, &flipped}; }
};

struct DeviceBatch {
  at::Tensor images;      // [N, 3, H, W] channels last; undefined where `raw` is not (Preprocessor)
  at::Tensor image_size;  // [N, 2] int32 height, width before padding
  at::Tensor image_id;    // [N] int64
  at::Tensor gt_box;      // [N, G, 4]
  at::Tensor gt_label;    // [N, G] int32, 0 where there is no object
  at::Tensor gt_count;    // [N] int32
  Masks masks;
  at::Tensor draw;  // draw_key
  RawImages raw = {};

  // visit(tensor, grows) for each tensor but those of `raw`; grows: its size follows the objects, where the others'
  // follow from the images' size.
  template <class Visit> void for_each_tensor(const Visit& visit) {
    for (at::Tensor* t : {&images, &image_size, &image_id, &gt_box, &gt_label, &gt_count, &masks.object_polygon,
             &masks.bitmap_box, &masks.bitmap_offset, &draw})
      visit(*t, false);
    for (at::Tensor* t : {&masks.polygon_vertex, &masks.vertices, &masks.bitmap_bytes}) visit(*t, true);
  }
};

// Tensors over the host batch's memory, which they do not own; `draw` is undefined.
DeviceBatch view_of(const data::HostBatch& host);

// Images [first, first + count) of a batch, as views of it. Its objects are a part of the batch's too.
DeviceBatch part_of(const DeviceBatch& batch, std::int64_t first, std::int64_t count);

// Key of the random draws of a step, the same on every number of ranks: [2] int64, on the CPU.
at::Tensor draw_key(std::int64_t seed, std::int64_t step);

}  // namespace ttt::model
