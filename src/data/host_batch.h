// What the loader hands to the trainer: one rank's batch in host memory, all shapes fixed by the run's settings.
#pragma once

#include <cstdint>
#include <vector>

namespace ttt::data {

// Ground truth masks of a batch, packed. Object g of image n has index n * gt_capacity + g. An object has polygons
// (coordinates of the resized, flipped image, as float pairs) where its annotation had, and always a bitmap cropped
// to the mask's bounding box in the resized, flipped image.
struct PackedMasks {
  // polygons: object -> [object_polygon[i], object_polygon[i+1]) -> polygon p -> vertices [polygon_vertex[p], ...p+1)
  std::vector<std::int32_t> object_polygon;  // [N*G + 1]
  std::vector<std::int32_t> polygon_vertex;  // [P + 1]
  std::vector<float> vertices;               // [V, 2] x, y
  // bitmaps: rows of 0/1 bytes, row-major, `bitmap_box` = x0, y0, width, height (pixels of the resized image)
  std::vector<std::int32_t> bitmap_box;      // [N*G, 4]
  std::vector<std::int64_t> bitmap_offset;   // [N*G]
  std::vector<std::uint8_t> bitmap_bytes;
};

struct HostBatch {
  std::int64_t images_n = 0, height = 0, width = 0;  // padded size, equal for all images of the batch
  std::int64_t gt_capacity = 0;                      // G
  std::vector<float> images;                // [N, H, W, 3] normalised, zero outside each image's own extent
  std::vector<std::int32_t> image_size;     // [N, 2] height, width after the resize, before padding
  std::vector<std::int32_t> original_size;  // [N, 2] height, width of the file
  std::vector<std::int64_t> image_id;       // [N] COCO id; -1: a black image that fills a short batch, as large as the batch
  std::vector<std::uint8_t> flipped;        // [N]
  std::vector<float> gt_box;                // [N, G, 4] x1, y1, x2, y2 in the resized, flipped image
  std::vector<std::int32_t> gt_label;       // [N, G] 1..classes; 0 where there is no object
  std::vector<std::int32_t> gt_count;       // [N] objects come first
  PackedMasks masks;
  // Provenance of time, for the step's attribution: seconds spent by the workers on this batch.
  double read_s = 0, decode_s = 0, transform_s = 0;
};

}  // namespace ttt::data
