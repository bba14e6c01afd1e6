#include "models/mask_rcnn/anchors.h"

#include <cmath>

#include "core/error.h"

namespace ttt::model {
namespace {

using Box = std::array<float, 4>;

// torchvision's AnchorGenerator: [-w, -h, w, h] / 2 rounded half to even, in float.
Box centred_anchor(float size, float ratio) {
  const float h_ratio = std::sqrt(ratio), w_ratio = 1.0f / h_ratio;
  const float w = w_ratio * size, h = h_ratio * size;
  return {std::nearbyint(-w / 2), std::nearbyint(-h / 2), std::nearbyint(w / 2), std::nearbyint(h / 2)};
}

// Detectron's generate_anchors: a stride x stride cell, its ratios at whole pixels (half to even), then scaled about
// its centre.
Box legacy_anchor(double stride, double size, double ratio) {
  const double centre = 0.5 * (stride - 1), w0 = std::nearbyint(std::sqrt(stride * stride / ratio)),
               h0 = std::nearbyint(w0 * ratio);
  const double w = w0 * (size / stride), h = h0 * (size / stride);
  return {static_cast<float>(centre - 0.5 * (w - 1)), static_cast<float>(centre - 0.5 * (h - 1)),
      static_cast<float>(centre + 0.5 * (w - 1)), static_cast<float>(centre + 0.5 * (h - 1))};
}

}  // namespace

Anchors make_anchors(const RpnConfig& config, bool legacy, std::int64_t image_height, std::int64_t image_width,
    const std::array<GridSize, 5>& grids) {
  if (config.anchor_sizes.size() != grids.size())
    throw UsageError("model.rpn.anchor_sizes has " + std::to_string(config.anchor_sizes.size()) +
                     " numbers: give five, one for each of P2 .. P6.");
  Anchors out;
  for (std::size_t level = 0; level < grids.size(); ++level) {
    const GridSize grid = grids[level];
    const std::int64_t nominal = std::int64_t{4} << level;
    const std::int64_t stride_y = config.stride_from_grid ? image_height / grid.height : nominal;
    const std::int64_t stride_x = config.stride_from_grid ? image_width / grid.width : nominal;
    std::vector<Box> cell;
    for (double ratio : config.anchor_ratios) {
      const double size = static_cast<double>(config.anchor_sizes[level]);
      cell.push_back(legacy ? legacy_anchor(static_cast<double>(nominal), size, ratio)
                            : centred_anchor(static_cast<float>(size), static_cast<float>(ratio)));
    }
    for (std::int64_t y = 0; y < grid.height; ++y)
      for (std::int64_t x = 0; x < grid.width; ++x)
        for (const Box& b : cell) {
          const float dx = static_cast<float>(x * stride_x), dy = static_cast<float>(y * stride_y);
          out.boxes.insert(out.boxes.end(), {dx + b[0], dy + b[1], dx + b[2], dy + b[3]});
        }
    out.level_start[level + 1] = static_cast<std::int64_t>(out.boxes.size()) / 4;
  }
  return out;
}

}  // namespace ttt::model
