// Order of the pixels of a row: as the product has them, and as the logits have them.
#pragma once

#include "core/host_device.h"
#include "kernels/mask_logits/mask_logits.h"

namespace ttt::kernels {

TTT_HD inline int pixels_of(const MaskLogitsParams& p) { return 4 * p.pooled * p.pooled; }

// Where the pixel that is number i in the product lies in the logits.
TTT_HD inline int logit_of(const MaskLogitsParams& p, int i) {
  const int pixel = i / 4, y = 2 * (pixel / p.pooled) + i % 4 / 2, x = 2 * (pixel % p.pooled) + i % 2;
  return y * 2 * p.pooled + x;
}

// Pixels [begin, end) of one of kMaskChunks ranges.
struct PixelRange {
  int begin, end;
};
TTT_HD inline PixelRange chunk_of(const MaskLogitsParams& p, int chunk) {
  const int pixels = pixels_of(p), size = (pixels + kMaskChunks - 1) / kMaskChunks;
  const int begin = chunk * size, end = begin + size;
  return {begin < pixels ? begin : pixels, end < pixels ? end : pixels};
}

}  // namespace ttt::kernels
