// Mask paste (He et al. 2017, inference), as torchvision's paste_masks_in_image: pad the mask by one, grow the box
// likewise, cut it to integers, resize bilinearly, threshold. Only the touched box is computed. Pixels equal
// torchvision's except where the probability is within 1e-6 of 0.5: the resize there may fuse multiply and add.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/error.h"
#include "kernels/host/detection.h"

namespace ttt::kernels::host {
namespace {

struct Grown {
  std::int64_t x0, y0, x1, y1;  // last pixel included
};

// Each side moves away from the centre by (size + 2) / size, then truncation towards zero (torch's cast to int64).
Grown grow(const float* box, int size) {
  const auto scale = static_cast<float>((size + 2.0) / size);
  const float hw = (box[2] - box[0]) * 0.5f * scale, hh = (box[3] - box[1]) * 0.5f * scale;
  const float cx = (box[2] + box[0]) * 0.5f, cy = (box[3] + box[1]) * 0.5f;
  return {static_cast<std::int64_t>(cx - hw), static_cast<std::int64_t>(cy - hh), static_cast<std::int64_t>(cx + hw),
          static_cast<std::int64_t>(cy + hh)};
}

// Output pixel i of `out` reads source pixels low and high of `in` (align_corners = false).
struct Lerp {
  std::int32_t low, high;
  float weight_low, weight_high;
};
Lerp lerp(std::int64_t i, std::int64_t in, std::int64_t out) {
  const float scale = static_cast<float>(in) / static_cast<float>(out);
  const float at = std::max(scale * (static_cast<float>(i) + 0.5f) - 0.5f, 0.0f);
  const auto low = static_cast<std::int32_t>(std::min<std::int64_t>(static_cast<std::int64_t>(at), in - 1));
  const float high_weight = std::min(std::max(at - static_cast<float>(low), 0.0f), 1.0f);
  return {low, static_cast<std::int32_t>(low + (low < in - 1)), 1.0f - high_weight, high_weight};
}

}  // namespace

void paste_mask(int size, const float* mask, const float* box, std::int64_t image_height, std::int64_t image_width,
                std::int32_t* box_out, std::uint8_t* bits, std::int64_t capacity) {
  for (int i = 0; i < 4; ++i)
    if (!(std::fabs(box[i]) < 1e8f))
      throw UsageError("A mask's box is not finite. Drop such detections before pasting.");
  const Grown b = grow(box, size);
  const std::int64_t w = std::max<std::int64_t>(b.x1 - b.x0 + 1, 1), h = std::max<std::int64_t>(b.y1 - b.y0 + 1, 1);
  const std::int64_t x0 = std::max<std::int64_t>(b.x0, 0), x1 = std::min(b.x1 + 1, image_width);
  const std::int64_t y0 = std::max<std::int64_t>(b.y0, 0), y1 = std::min(b.y1 + 1, image_height);
  const std::int64_t width = std::max<std::int64_t>(x1 - x0, 0), height = std::max<std::int64_t>(y1 - y0, 0);
  const bool empty = width == 0 || height == 0;
  const std::int64_t touched[] = {empty ? 0 : x0, empty ? 0 : y0, empty ? 0 : width, empty ? 0 : height};
  for (int i = 0; i < 4; ++i) box_out[i] = static_cast<std::int32_t>(touched[i]);
  if (empty) return;
  if (width * height > capacity)
    throw UsageError("A pasted mask of " + std::to_string(width * height) + " pixels does not fit its buffer of " +
                     std::to_string(capacity) + ". Give a buffer of the image's size.");
  // The padded mask's rows, resized to the touched columns; each is used by several output rows.
  const int padded = size + 2;
  std::vector<float> wide(static_cast<std::size_t>(padded) * width, 0.0f);
  for (std::int64_t x = 0; x < width; ++x) {
    const Lerp l = lerp(x + x0 - b.x0, padded, w);
    for (int r = 0; r < size; ++r) {
      const float low = l.low >= 1 && l.low <= size ? mask[r * size + l.low - 1] : 0.0f;
      const float high = l.high >= 1 && l.high <= size ? mask[r * size + l.high - 1] : 0.0f;
      wide[(r + 1) * width + x] = l.weight_low * low + l.weight_high * high;
    }
  }
  for (std::int64_t y = 0; y < height; ++y) {
    const Lerp l = lerp(y + y0 - b.y0, padded, h);
    const float *low = wide.data() + l.low * width, *high = wide.data() + l.high * width;
    std::uint8_t* row = bits + y * width;
    for (std::int64_t x = 0; x < width; ++x) row[x] = l.weight_low * low[x] + l.weight_high * high[x] > 0.5f;
  }
}

}  // namespace ttt::kernels::host
