// From a bitmap to what COCO's JSON holds.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "coco/rle.h"

namespace ttt::data {

struct Bitmap {
  std::int32_t height = 0, width = 0;
  std::vector<std::uint8_t> bits;  // [height, width] 0 and 1

  std::uint8_t at(std::int32_t y, std::int32_t x) const {
    return y >= 0 && x >= 0 && y < height && x < width ? bits[static_cast<std::size_t>(y) * width + x] : 0;
  }
};

// Outlines along the pixels' edges, one per 4-connected part; pycocotools rasterises them to exactly the same bitmap.
// Nothing where the bitmap has a hole, which COCO's polygons cannot say.
std::optional<std::vector<coco::Polygon>> outline(const Bitmap& bitmap);

}  // namespace ttt::data
