// Decoded images to a batch: resize, flip, normalise, pad. The results are data::ImageTransform's to the bit.
#pragma once

#include "kernels/common/operation.h"

namespace ttt::kernels {

struct PreprocessParams {
  std::int64_t images = 0, height = 0, width = 0;  // of the batch
  bool antialias = false;                          // where an axis shrinks
  bool bgr = false;                                // order of the output's channels
};
// Arrays of data::RawImages and the sizes in the batch. An image without bytes is black. Device pointers on a device.
struct RawImagesView {
  const std::uint8_t* bytes;        // rows of red, green, blue
  const std::int64_t* offset;       // [images] into bytes
  const std::int32_t* size;         // [images, 2] height, width
  const std::int32_t* placed_size;  // [images, 2] after the resize, inside the batch's
  const std::uint8_t* flipped;      // [images]
};

// in:  values [3, 256] what a byte becomes, by channel of the output
// out: images [images, height, width, 3], zero outside each image's own extent
namespace host {
void preprocess(const PreprocessParams& p, const RawImagesView& view, const float* values, float* images,
                ThreadPool* pool = nullptr);
}
namespace cuda {
void preprocess(const PreprocessParams& p, const RawImagesView& view, const float* values, float* images,
                cudaStream_t stream);
}

}  // namespace ttt::kernels
