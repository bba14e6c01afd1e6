// Ground truth of one image, carried through resize and flip.
#pragma once

#include <cstdint>
#include <vector>

#include "data/shard_format.h"
#include "data/transform.h"

namespace ttt::data {

// Like HostBatch's, for one image; objects in the order of the JSON.
struct ImageTargets {
  std::vector<float> box;                  // [objects, 4] x1, y1, x2, y2
  std::vector<std::int32_t> label;         // [objects] 1-based
  std::vector<std::int32_t> polygons;      // [objects] number of polygons
  std::vector<std::int32_t> vertices;      // [polygons] number of vertices
  std::vector<float> xy;                   // [vertices, 2]
  std::vector<std::int32_t> bitmap_box;    // [objects, 4] x0, y0, width, height
  std::vector<std::uint8_t> bitmap_bytes;  // one after another, [height, width] of 0 and 1 each

  std::int64_t objects() const { return static_cast<std::int64_t>(label.size()); }
  void clear();
};

struct TargetGeometry {
  Size in, out;
  bool flip = false;
  // MLPerf's convention: x2 = x + max(w - 1, 0), borders at width - 1, flip x' = width - x - 1 for boxes and vertices.
  bool legacy = false;
  bool bitmaps = true;  // false: every bitmap is empty
};

// Drops crowds and boxes that are empty after clipping. Boxes: float32, times out/in of each axis (torchvision's
// resize_boxes). Bitmaps: the annotation rasterised on the file's pixels as pycocotools does it, resized to the nearest
// pixel (torch's interpolate, mode nearest), flipped, cut to its bounding box.
void make_targets(const ShardIndex& index, std::int64_t record, const TargetGeometry& geometry, ImageTargets& out);

}  // namespace ttt::data
