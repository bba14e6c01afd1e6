// Preprocessing: a thread per pixel of the batch, padding included. An image's bytes are read once or a few times,
// mostly from the caches; the batch is written once.
#include "kernels/common/launch.h"
#include "kernels/preprocess/pixel.h"

namespace ttt::kernels::cuda {
namespace {

constexpr int kThreads = 256, kValues = 3 * 256;

__global__ void __launch_bounds__(kThreads)
    preprocess_kernel(PreprocessParams p, RawImagesView view, const float* values, float* images) {
  __shared__ float table[kValues];
  for (int i = static_cast<int>(threadIdx.x); i < kValues; i += kThreads) table[i] = values[i];
  __syncthreads();
  const std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x, n = blockIdx.y;
  if (at >= p.height * p.width) return;
  const PlacedPixel pixel{view.placed_size[2 * n], view.placed_size[2 * n + 1], static_cast<std::int32_t>(at / p.width),
                          static_cast<std::int32_t>(at % p.width)};
  const SourceImage image{view.bytes + view.offset[n], view.size[2 * n], view.size[2 * n + 1]};
  float out[3] = {0, 0, 0};
  if (image.height > 0 && pixel.y < pixel.height && pixel.x < pixel.width)
    Preprocessor(p, image, table)(pixel, view.flipped[n] != 0, out);
  float* to = images + (n * p.height * p.width + at) * 3;
  for (int c = 0; c < 3; ++c) to[c] = out[c];
}

}  // namespace

void preprocess(const PreprocessParams& p, const RawImagesView& view, const float* values, float* images,
                cudaStream_t stream) {
  const Shape shape{.x = blocks_for(p.height * p.width, kThreads), .y = p.images, .threads = kThreads};
  launch("preprocess", preprocess_kernel, shape, stream, p, view, values, images);
}

}  // namespace ttt::kernels::cuda
