// Masks for evaluation, pasted and run-length encoded without a bitmap: a thread walks down a column of the mask's box and notes where the pasted bit
// changes. The host twin widens a mask's rows once and mixes two of them; here a thread does the same arithmetic for its own column, so the bits are the same.
#include "kernels/cuda/block.h"
#include "kernels/cuda/detection.h"
#include "kernels/cuda/launch.h"

namespace ttt::kernels::cuda {
namespace {

constexpr int kThreads = 128;

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

// What a column contributes, in COCO's order: column by column, each from the top.
class Column {
 public:
  __device__ Column(const MaskChangesParams& p, const float* mask, const Touched& t, std::int64_t height, std::int64_t x)
      : size_(p.size), mask_(mask), t_(t), height_(height), x_(x), across_(x - t.left, p.size + 2, t.width) {}

  __device__ bool bit(std::int64_t y) {
    const Lerp down(y - t_.top, size_ + 2, t_.height);
    if (down.low != low_) low_ = down.low, above_ = widened(mask_, size_, down.low, across_), below_ = widened(mask_, size_, down.high, across_);
    return down.weight_low * above_ + down.weight_high * below_ > 0.5f;
  }

  // Calls note(position) where the bit differs from the pixel before, up to the box's last row; a run that reaches the image's last row goes on into the
  // next column. `before`: the last pixel of the column before. Returns the last pixel of this one.
  template <class Note>
  __device__ bool changes(bool before, const Note& note) {
    const std::int64_t first = x_ * height_;
    if (before && t_.y0 > 0) note(first), before = false;
    for (std::int64_t y = t_.y0; y < t_.y0 + t_.h; ++y)
      if (bit(y) != before) note(first + y), before = !before;
    if (before && t_.y0 + t_.h < height_) note(first + t_.y0 + t_.h), before = false;
    return before;
  }

 private:
  int size_, low_ = -1;
  const float* mask_;
  const Touched& t_;
  std::int64_t height_, x_;
  Lerp across_;
  float above_ = 0, below_ = 0;  // the two of the mask's rows, at this column, that bit() mixes
};

// A block per mask. out: [masks] the numbers of their changes; or, where kWrite, the changes themselves, those of mask i from out[begin[i]] on.
template <bool kWrite>
__global__ void __launch_bounds__(kThreads) mask_changes_kernel(MaskChangesParams p, const float* masks, const float* boxes, const std::int32_t* image_size,
                                                                const std::int32_t* begin, std::int32_t* out) {
  __shared__ int sums[33];
  const std::int64_t mask = blockIdx.x;
  const float box[4] = {boxes[4 * mask], boxes[4 * mask + 1], boxes[4 * mask + 2], boxes[4 * mask + 3]};
  const std::int64_t height = image_size[2 * mask], width = image_size[2 * mask + 1];
  const Touched t = touched_by(box, p.size, height, width);
  const float* own = masks + mask * p.size * p.size;
  const bool to_the_bottom = t.y0 + t.h == height;
  int done = kWrite ? begin[mask] : 0;
  for (std::int64_t left = t.x0; left < t.x0 + t.w; left += kThreads) {  // as many rounds for each thread of the block
    const std::int64_t x = left + threadIdx.x;
    const bool mine = x < t.x0 + t.w;
    const bool before = mine && to_the_bottom && x > t.x0 && Column(p, own, t, height, x - 1).bit(height - 1);
    int count = 0;
    bool last = false;
    if (mine) last = Column(p, own, t, height, x).changes(before, [&](std::int64_t) { ++count; });
    const bool closes = mine && last && x + 1 == t.x0 + t.w && x + 1 < width;  // behind the box's last column
    int total = 0;
    const int rank = block_exclusive_sum(count + closes, sums, total);
    if (kWrite && mine) {
      std::int32_t* next = out + done + rank;
      Column(p, own, t, height, x).changes(before, [&](std::int64_t position) { *next++ = static_cast<std::int32_t>(position); });
      if (closes) *next = static_cast<std::int32_t>((x + 1) * height);
    }
    done += total;
  }
  if (!kWrite && threadIdx.x == 0) out[mask] = done;
}

// begin[i] becomes the sum of those before i; begin[masks], of all.
__global__ void __launch_bounds__(kThreads) sum_counts(std::int64_t masks, std::int32_t* begin) {
  __shared__ int sums[33];
  int before = 0;
  for (std::int64_t first = 0; first <= masks; first += kThreads) {
    const std::int64_t i = first + threadIdx.x;
    int total = 0;
    const int own = block_exclusive_sum(i < masks ? begin[i] : 0, sums, total);
    if (i <= masks) begin[i] = before + own;
    before += total;
  }
}

void check(const MaskChangesParams& p) {
  if (p.size < 1) throw UsageError("A mask wants a side of at least one pixel. Correct MaskChangesParams::size.");
}

}  // namespace

void count_mask_changes(const MaskChangesParams& p, const float* masks, const float* boxes, const std::int32_t* image_size, std::int32_t* begin, cudaStream_t stream) {
  check(p);
  const std::int32_t* const none = nullptr;
  launch("count_mask_changes", mask_changes_kernel<false>, {.x = p.masks, .threads = kThreads}, stream, p, masks, boxes, image_size, none, begin);
  launch("sum_counts", sum_counts, {.threads = kThreads}, stream, p.masks, begin);
}

void write_mask_changes(const MaskChangesParams& p, const float* masks, const float* boxes, const std::int32_t* image_size, const std::int32_t* begin,
                        std::int32_t* changes, cudaStream_t stream) {
  check(p);
  launch("write_mask_changes", mask_changes_kernel<true>, {.x = p.masks, .threads = kThreads}, stream, p, masks, boxes, image_size, begin, changes);
}

}  // namespace ttt::kernels::cuda
