// Mask paste: pad the mask by one, grow the box likewise, cut it to integers, resize bilinearly, threshold. Only the
// touched box is computed. Pixels equal torchvision's except where the probability is within 1e-6 of 0.5: torchvision's
// resize may fuse multiply and add.
#include <algorithm>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/resample.h"
#include "kernels/paste/box.h"
#include "kernels/paste/paste.h"

namespace ttt::kernels::host {

void paste_mask(int size, const float* mask, const float* box, std::int64_t image_height, std::int64_t image_width,
                std::int32_t* box_out, std::uint8_t* bits, std::int64_t capacity) {
  if (!can_be_pasted(box))
    throw UsageError("A mask's box is not finite, or beyond 1e8. Drop such detections before pasting.");
  const PasteBox b = paste_box(box, size, image_height, image_width);
  const std::int32_t touched[] = {b.x0, b.y0, b.w, b.h};
  std::copy_n(touched, 4, box_out);
  if (b.w == 0) return;
  const std::int64_t width = b.w, height = b.h;
  if (width * height > capacity)
    throw UsageError("A pasted mask of " + std::to_string(width * height) + " pixels does not fit its buffer of " +
                     std::to_string(capacity) + ". Give a buffer of the image's size.");
  // The padded mask's rows, resized to the touched columns; each is used by several output rows.
  const int padded = size + 2;
  std::vector<float> wide(static_cast<std::size_t>(padded) * width, 0.0f);
  for (std::int64_t x = 0; x < width; ++x) {
    const TwoTaps t = two_taps(padded, b.width, static_cast<std::int32_t>(x) + b.x0 - b.left);
    for (int r = 0; r < size; ++r) {
      const float low = t.at[0] >= 1 && t.at[0] <= size ? mask[r * size + t.at[0] - 1] : 0.0f;
      const float high = t.at[1] >= 1 && t.at[1] <= size ? mask[r * size + t.at[1] - 1] : 0.0f;
      wide[(r + 1) * width + x] = t.weight[0] * low + t.weight[1] * high;
    }
  }
  for (std::int64_t y = 0; y < height; ++y) {
    const TwoTaps t = two_taps(padded, b.height, static_cast<std::int32_t>(y) + b.y0 - b.top);
    const float *low = wide.data() + t.at[0] * width, *high = wide.data() + t.at[1] * width;
    std::uint8_t* row = bits + y * width;
    for (std::int64_t x = 0; x < width; ++x) row[x] = t.weight[0] * low[x] + t.weight[1] * high[x] > 0.5f;
  }
}

}  // namespace ttt::kernels::host
