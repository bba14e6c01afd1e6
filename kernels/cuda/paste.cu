// Mask paste for evaluation: a thread per pixel of each mask's touched box. The host twin widens a mask's rows once and mixes two of
// them; here a thread does the same arithmetic for its own column, so the bits are the same.
#include "kernels/cuda/detection.h"
#include "kernels/cuda/launch.h"

namespace ttt::kernels::cuda {
namespace {

constexpr int kThreads = 256;

struct Touched {
  std::int64_t left, top;  // of the grown box, before it is cut to the image
  std::int64_t width, height;
  std::int64_t x0, y0, w, h;  // what of it lies in the image; w = h = 0: nothing
};

// Each side moves away from the centre by (size + 2) / size, then truncation towards zero (torch's cast to int64).
__device__ Touched touched_by(const float* box, int size, std::int64_t image_height, std::int64_t image_width) {
  Touched t{};
  for (int i = 0; i < 4; ++i)
    if (!(fabsf(box[i]) < 1e8f)) return t;
  const auto scale = static_cast<float>((size + 2.0) / size);
  const float hw = (box[2] - box[0]) * 0.5f * scale, hh = (box[3] - box[1]) * 0.5f * scale;
  const float cx = (box[2] + box[0]) * 0.5f, cy = (box[3] + box[1]) * 0.5f;
  t.left = static_cast<std::int64_t>(cx - hw), t.top = static_cast<std::int64_t>(cy - hh);
  const auto right = static_cast<std::int64_t>(cx + hw), bottom = static_cast<std::int64_t>(cy + hh);
  const std::int64_t one = 1, none = 0;
  t.width = max(right - t.left + 1, one), t.height = max(bottom - t.top + 1, one);
  const std::int64_t x0 = max(t.left, none), x1 = min(right + 1, image_width), y0 = max(t.top, none), y1 = min(bottom + 1, image_height);
  if (x1 <= x0 || y1 <= y0) return t;
  t.x0 = x0, t.y0 = y0, t.w = x1 - x0, t.h = y1 - y0;
  return t;
}

// Output pixel i of `out` reads source pixels low and high of `in` (align_corners = false).
struct Lerp {
  int low, high;
  float weight_low, weight_high;
  __device__ Lerp(std::int64_t i, int in, std::int64_t out) {
    const float scale = static_cast<float>(in) / static_cast<float>(out), place = scale * (static_cast<float>(i) + 0.5f) - 0.5f;
    const float at = place < 0.0f ? 0.0f : place;
    low = static_cast<int>(at) < in - 1 ? static_cast<int>(at) : in - 1;
    const float fraction = at - static_cast<float>(low), cut = fraction < 0.0f ? 0.0f : fraction;
    weight_high = cut > 1.0f ? 1.0f : cut;
    high = low + (low < in - 1);
    weight_low = 1.0f - weight_high;
  }
};

// The mask has a border of zeros, one pixel wide: row and column 0 and size + 1.
__device__ float widened(const float* mask, int size, int row, const Lerp& x) {
  if (row < 1 || row > size) return 0.0f;
  const float low = x.low >= 1 && x.low <= size ? mask[(row - 1) * size + x.low - 1] : 0.0f;
  const float high = x.high >= 1 && x.high <= size ? mask[(row - 1) * size + x.high - 1] : 0.0f;
  return x.weight_low * low + x.weight_high * high;
}

__global__ void __launch_bounds__(kThreads)
    paste_masks_kernel(PasteParams p, const float* masks, const float* boxes, std::int32_t* box_out, std::uint8_t* bits, std::int64_t capacity) {
  const std::int64_t mask = blockIdx.y;
  const float box[4] = {boxes[4 * mask], boxes[4 * mask + 1], boxes[4 * mask + 2], boxes[4 * mask + 3]};
  const Touched t = touched_by(box, p.size, p.image_height, p.image_width);
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    const std::int64_t out[] = {t.x0, t.y0, t.w, t.h};
    for (int i = 0; i < 4; ++i) box_out[4 * mask + i] = static_cast<std::int32_t>(out[i]);
  }
  const float* own = masks + mask * p.size * p.size;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < t.w * t.h; i += std::int64_t{kThreads} * gridDim.x) {
    const Lerp x(i % t.w + t.x0 - t.left, p.size + 2, t.width), y(i / t.w + t.y0 - t.top, p.size + 2, t.height);
    bits[mask * capacity + i] = y.weight_low * widened(own, p.size, y.low, x) + y.weight_high * widened(own, p.size, y.high, x) > 0.5f;
  }
}

}  // namespace

void paste_masks(const PasteParams& p, const float* masks, const float* boxes, std::int32_t* box_out, std::uint8_t* bits, std::int64_t capacity,
                 cudaStream_t stream) {
  if (p.size < 1) throw UsageError("A mask wants a side of at least one pixel. Correct PasteParams::size.");
  if (capacity < p.image_height * p.image_width)
    throw UsageError("A pasted mask may not fit its buffer of " + std::to_string(capacity) + " pixels. Give a buffer of the image's size.");
  // A mask fills a small part of its image: enough blocks for a few pixels a thread even so.
  const std::int64_t blocks = blocks_for(p.image_height * p.image_width, 16 * kThreads);
  launch("paste_masks", paste_masks_kernel, {.x = blocks, .y = p.masks, .threads = kThreads}, stream, p, masks, boxes, box_out, bits, capacity);
}

}  // namespace ttt::kernels::cuda
