// The pixels that a pasted mask touches, shared by the kernel and the reference implementation.
#pragma once

#include <cstdint>

#include "core/host_device.h"

namespace ttt::kernels {

// Whether a box's coordinates are finite, and so near that cutting them to whole pixels is defined.
TTT_HD inline bool can_be_pasted(const float* box) {
  constexpr float kLimit = 1e8f;
  for (int i = 0; i < 4; ++i)
    if (!(box[i] > -kLimit && box[i] < kLimit)) return false;
  return true;
}

struct PasteBox {
  std::int32_t left, top, width, height;  // of the grown box, before it is cut to the image
  std::int32_t x0, y0, w, h;              // what of it lies in the image; all 0: nothing
};

// torchvision's paste_masks_in_image. The mask gets a border of one pixel, so each side of its box moves away from the
// centre by (size + 2) / size; then truncation towards zero (torch's cast to int64), last pixel included. The box must
// be one that can_be_pasted.
TTT_HD inline PasteBox paste_box(const float* box, int size, std::int64_t image_height, std::int64_t image_width) {
  const auto scale = static_cast<float>((size + 2.0) / size);
  const float half_width = (box[2] - box[0]) * 0.5f * scale, half_height = (box[3] - box[1]) * 0.5f * scale;
  const float x = (box[2] + box[0]) * 0.5f, y = (box[3] + box[1]) * 0.5f;
  const auto left = static_cast<std::int32_t>(x - half_width), right = static_cast<std::int32_t>(x + half_width);
  const auto top = static_cast<std::int32_t>(y - half_height), bottom = static_cast<std::int32_t>(y + half_height);
  PasteBox b{left, top, right < left ? 1 : right - left + 1, bottom < top ? 1 : bottom - top + 1, 0, 0, 0, 0};
  const std::int32_t x0 = left > 0 ? left : 0, y0 = top > 0 ? top : 0;
  const auto x1 = static_cast<std::int32_t>(right + 1 < image_width ? right + 1 : image_width);
  const auto y1 = static_cast<std::int32_t>(bottom + 1 < image_height ? bottom + 1 : image_height);
  if (x1 > x0 && y1 > y0) b.x0 = x0, b.y0 = y0, b.w = x1 - x0, b.h = y1 - y0;
  return b;
}

}  // namespace ttt::kernels
