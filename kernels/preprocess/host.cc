// Preprocessing pixel by pixel. The loader's workers do the same row by row (src/data/transform.cc).
#include "core/parallel.h"
#include "kernels/preprocess/pixel.h"

namespace ttt::kernels::host {

void preprocess(const PreprocessParams& p, const RawImagesView& view, const float* values, float* images,
                ThreadPool* pool) {
  parallel_for(pool, p.images * p.height, [&](std::int64_t row) {
    const std::int64_t n = row / p.height;
    const SourceImage image{view.bytes + view.offset[n], view.size[2 * n], view.size[2 * n + 1]};
    const Preprocessor preprocessed(p, image, values);
    PlacedPixel pixel{view.placed_size[2 * n], view.placed_size[2 * n + 1], static_cast<std::int32_t>(row % p.height),
                      0};
    float* out = images + row * p.width * 3;
    for (; pixel.x < p.width; ++pixel.x, out += 3) {
      out[0] = out[1] = out[2] = 0;
      if (image.height > 0 && pixel.y < pixel.height && pixel.x < pixel.width)
        preprocessed(pixel, view.flipped[n] != 0, out);
    }
  });
}

}  // namespace ttt::kernels::host
