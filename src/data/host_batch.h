// One rank's batch in host memory, from the loader to the trainer. All shapes are fixed by the run's settings. The
// maker chooses the memory: a device copies faster and asynchronously from pinned memory.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <vector>

namespace ttt::data {

// Ground truth masks of a batch, packed. Object g of image n has index n * gt_capacity + g. All coordinates are those
// of the resized, flipped image. An object has a bitmap where Targets::bitmaps asks for it, cropped to the mask's
// bounding box. It has polygons, as float pairs, where its annotation has.
struct PackedMasks {
  static PackedMasks in(std::pmr::memory_resource* memory) {
    return {.object_polygon = decltype(object_polygon)(memory),
        .polygon_vertex = decltype(polygon_vertex)(memory),
        .vertices = decltype(vertices)(memory),
        .bitmap_box = decltype(bitmap_box)(memory),
        .bitmap_offset = decltype(bitmap_offset)(memory),
        .bitmap_bytes = decltype(bitmap_bytes)(memory)};
  }
  // polygons: object -> [object_polygon[i], object_polygon[i+1]) -> polygon p -> vertices [polygon_vertex[p], ...p+1)
  std::pmr::vector<std::int32_t> object_polygon;  // [N*G + 1]
  std::pmr::vector<std::int32_t> polygon_vertex;  // [P + 1]
  std::pmr::vector<float> vertices;               // [V, 2] x, y
  // bitmaps: rows of 0/1 bytes, row-major, `bitmap_box` = x0, y0, width, height (pixels of the resized image)
  std::pmr::vector<std::int32_t> bitmap_box;     // [N*G, 4]
  std::pmr::vector<std::int64_t> bitmap_offset;  // [N*G]
  std::pmr::vector<std::uint8_t> bitmap_bytes;
};

// Images as their files have them, for a device that resizes, flips and normalises them itself
// (DataSettings::transform).
struct RawImages {
  static RawImages in(std::pmr::memory_resource* memory) {
    return {.bytes = decltype(bytes)(memory), .offset = decltype(offset)(memory), .size = decltype(size)(memory)};
  }
  std::pmr::vector<std::uint8_t> bytes;   // rows of red, green, blue; image n from offset[n] on
  std::pmr::vector<std::int64_t> offset;  // [N]
  std::pmr::vector<std::int32_t> size;    // [N, 2] height, width; 0, 0: a black image
};

struct HostBatch {
  // All arrays in `memory`, which outlives them.
  static HostBatch in(std::pmr::memory_resource* memory) {
    return {.images = decltype(images)(memory),
        .image_size = decltype(image_size)(memory),
        .original_size = decltype(original_size)(memory),
        .image_id = decltype(image_id)(memory),
        .flipped = decltype(flipped)(memory),
        .gt_box = decltype(gt_box)(memory),
        .gt_label = decltype(gt_label)(memory),
        .gt_count = decltype(gt_count)(memory),
        .masks = PackedMasks::in(memory),
        .raw = RawImages::in(memory)};
  }
  std::int64_t images_n = 0, height = 0, width = 0;  // padded size, equal for all images of the batch
  std::int64_t gt_capacity = 0;                      // G
  // [N, H, W, 3] normalised, zero outside each image's own extent; empty where `raw` is not
  std::pmr::vector<float> images;
  std::pmr::vector<std::int32_t> image_size;     // [N, 2] height, width after the resize, before padding
  std::pmr::vector<std::int32_t> original_size;  // [N, 2] height, width of the file
  // [N] COCO id; -1: a black image that fills a short batch, as large as the batch
  std::pmr::vector<std::int64_t> image_id;
  std::pmr::vector<std::uint8_t> flipped;   // [N]
  std::pmr::vector<float> gt_box;           // [N, G, 4] x1, y1, x2, y2 in the resized, flipped image
  std::pmr::vector<std::int32_t> gt_label;  // [N, G] 1..classes; 0 where there is no object
  std::pmr::vector<std::int32_t> gt_count;  // [N] objects come first
  PackedMasks masks;
  RawImages raw;  // empty where `images` is not
  // Provenance of time, for the step's attribution: seconds spent by the workers on this batch.
  double read_s = 0, decode_s = 0, transform_s = 0;
};

}  // namespace ttt::data
