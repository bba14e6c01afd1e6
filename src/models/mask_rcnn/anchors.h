// Anchor boxes of a padded image size.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "models/mask_rcnn/config.h"

namespace ttt::model {

struct Anchors {
  std::vector<float> boxes;                   // [A, 4] x1, y1, x2, y2; by level, then row, column, ratio
  std::array<std::int64_t, 6> level_start{};  // anchors of level l: [level_start[l], level_start[l + 1])
};

struct GridSize {
  std::int64_t height = 0, width = 0;
};

// legacy: Detectron's cell anchors (corners on whole pixels, ratios rounded), else torchvision's (centred on zero,
// rounded).
Anchors make_anchors(const RpnConfig& config, bool legacy, std::int64_t image_height, std::int64_t image_width,
    const std::array<GridSize, 5>& grids);

}  // namespace ttt::model
