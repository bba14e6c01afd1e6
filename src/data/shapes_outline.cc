#include "data/shapes_outline.h"

#include <array>

namespace ttt::data {
namespace {

// Walks the boundary with the object on the right hand, from corner to corner of the pixel grid. Directions: 0 right,
// 1 down, 2 left, 3 up. Where two object pixels touch only at a corner the walk turns right, which keeps to its own
// part.
struct Walker {
  const Bitmap& bitmap;
  std::int32_t x, y;
  int direction;

  static constexpr std::int32_t kStepX[4] = {1, 0, -1, 0}, kStepY[4] = {0, 1, 0, -1};
  // The pixels to the right and left of the edge that leaves (x, y) in direction d.
  bool right_of(int d) const {
    return bitmap.at(y + (d == 2 || d == 3 ? -1 : 0), x + (d == 1 || d == 2 ? -1 : 0)) != 0;
  }
  bool left_of(int d) const { return bitmap.at(y + (d == 0 || d == 3 ? -1 : 0), x + (d == 2 || d == 3 ? -1 : 0)) != 0; }
  void step() {
    x += kStepX[direction], y += kStepY[direction];
    for (const int turn : {1, 0, 3}) {
      const int d = (direction + turn) % 4;
      if (right_of(d) && !left_of(d)) {
        direction = d;
        return;
      }
    }
    direction = (direction + 2) % 4;
  }
};

}  // namespace

std::optional<std::vector<coco::Polygon>> outline(const Bitmap& bitmap) {
  // An upper edge of a pixel belongs to exactly one boundary; hole boundaries also have upper edges (below the hole).
  std::vector<std::uint8_t> seen(bitmap.bits.size(), 0);
  std::vector<coco::Polygon> polygons;
  for (std::int32_t y = 0; y < bitmap.height; ++y)
    for (std::int32_t x = 0; x < bitmap.width; ++x) {
      if (!bitmap.at(y, x) || bitmap.at(y - 1, x) || seen[static_cast<std::size_t>(y) * bitmap.width + x]) continue;
      Walker walker{bitmap, x, y, 0};
      coco::Polygon polygon;
      std::int64_t doubled_area = 0;
      do {
        if (walker.direction == 0) seen[static_cast<std::size_t>(walker.y) * bitmap.width + walker.x] = 1;
        const std::int32_t from_x = walker.x, from_y = walker.y;
        const int direction = walker.direction;
        walker.step();
        doubled_area += static_cast<std::int64_t>(from_x) * walker.y - static_cast<std::int64_t>(walker.x) * from_y;
        if (walker.direction != direction)
          polygon.insert(polygon.end(), {static_cast<double>(walker.x), static_cast<double>(walker.y)});
      } while (walker.x != x || walker.y != y || walker.direction != 0);
      if (doubled_area < 0) return std::nullopt;  // walked the other way round: the boundary of a hole
      polygons.push_back(std::move(polygon));
    }
  return polygons;
}

}  // namespace ttt::data
