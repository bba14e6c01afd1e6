// Masks pasted into their images (He et al. 2017, inference): torchvision's paste_masks_in_image, thresholded at 0.5.
#pragma once

#include "kernels/common/operation.h"

namespace ttt::kernels {

namespace host {
// Pads the mask by one, expands the box, resizes bilinearly (align_corners=false).
//   in:  mask [size, size] probabilities, box [4]
//   out: box_out [4] the touched pixels x0, y0, w, h inside the image, bits [h, w] 0 or 1; w * h <= capacity
void paste_mask(int size, const float* mask, const float* box, std::int64_t image_height, std::int64_t image_width,
                std::int32_t* box_out, std::uint8_t* bits, std::int64_t capacity);
}  // namespace host

// paste_mask and COCO's run-length encoding (coco/rle.h) in one pass, for many masks. A change is a position, column by
// column, where the pasted bit differs from the pixel before, the first from 0: the running sum of COCO's run lengths
// without the last run. Those of mask i are changes[begin[i]] to changes[begin[i + 1]]. A box that is not finite, or
// beyond 1e8, pastes nothing. Images have less than 2^31 pixels.
struct MaskChangesParams {
  int size = 28;
  std::int64_t masks = 0;
};
struct MaskChangesIn {
  const float* masks;              // [masks, size, size]
  const float* boxes;              // [masks, 4]
  const std::int32_t* image_size;  // [masks, 2] height, width
};
namespace cuda {
// out: begin [masks + 1]; the last says how many changes there are
void count_mask_changes(const MaskChangesParams& p, const MaskChangesIn& in, std::int32_t* begin, cudaStream_t stream);
// out: changes [begin[masks]]
void write_mask_changes(const MaskChangesParams& p, const MaskChangesIn& in, const std::int32_t* begin,
                        std::int32_t* changes, cudaStream_t stream);
}  // namespace cuda

}  // namespace ttt::kernels
