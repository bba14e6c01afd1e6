#include "data/image_batch.h"

#include "data/collate.h"
#include "data/transform.h"

namespace ttt::data {

HostBatch image_batch(const RgbImage& image, const DataSettings& settings, const std::string& name) {
  check(settings);
  const Size size{image.height, image.width}, out = resized_size(settings, size),
                                              padded = padded_size(settings, {size});
  check_fits(settings, size, padded, name);
  HostBatch b{.images_n = 1, .height = padded.height, .width = padded.width};
  b.images.assign(static_cast<std::size_t>(padded.height) * padded.width * 3, 0.0f);
  b.image_size = {out.height, out.width};
  b.original_size = {size.height, size.width};
  b.image_id = {0};
  b.flipped = {0};
  ImageTransform(settings).run(
      image, {.out = out, .pixels = b.images.data(), .row_stride = std::int64_t{padded.width} * 3});
  return b;
}

}  // namespace ttt::data
