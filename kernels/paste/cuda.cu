// Masks for evaluation, pasted and run-length encoded without a bitmap: a thread walks down a column of the mask's box
// and reports where the pasted bit changes. Its arithmetic for one column is that of paste_mask, so the bits are the
// same.
#include "core/resample.h"
#include "kernels/common/block.h"
#include "kernels/common/launch.h"
#include "kernels/paste/box.h"
#include "kernels/paste/paste.h"

namespace ttt::kernels::cuda {
namespace {

constexpr int kThreads = 128;

// The mask has a border of zeros, one pixel wide: row and column 0 and size + 1.
__device__ float widened(const float* mask, int size, int row, const TwoTaps& x) {
  if (row < 1 || row > size) return 0.0f;
  const float low = x.at[0] >= 1 && x.at[0] <= size ? mask[(row - 1) * size + x.at[0] - 1] : 0.0f;
  const float high = x.at[1] >= 1 && x.at[1] <= size ? mask[(row - 1) * size + x.at[1] - 1] : 0.0f;
  return x.weight[0] * low + x.weight[1] * high;
}

// One column's changes, from the top; COCO's order is column by column.
class Column {
 public:
  __device__ Column(const MaskChangesParams& p, const float* mask, const PasteBox& box, std::int64_t height,
                    std::int64_t x)
      : size_(p.size),
        mask_(mask),
        box_(box),
        height_(height),
        x_(x),
        across_(two_taps(p.size + 2, box.width, static_cast<std::int32_t>(x) - box.left)) {}

  __device__ bool bit(std::int64_t y) {
    const TwoTaps down = two_taps(size_ + 2, box_.height, static_cast<std::int32_t>(y) - box_.top);
    if (down.at[0] != low_) {
      low_ = down.at[0];
      above_ = widened(mask_, size_, down.at[0], across_), below_ = widened(mask_, size_, down.at[1], across_);
    }
    return down.weight[0] * above_ + down.weight[1] * below_ > 0.5f;
  }

  // Calls note(position) where the bit differs from the pixel before, up to the box's last row; a run that reaches the
  // image's last row goes on into the next column. `before`: the last pixel of the column before. Returns the last
  // pixel of this column.
  template <class Note>
  __device__ bool changes(bool before, const Note& note) {
    const std::int64_t first = x_ * height_;
    if (before && box_.y0 > 0) note(first), before = false;
    for (std::int64_t y = box_.y0; y < box_.y0 + box_.h; ++y)
      if (bit(y) != before) note(first + y), before = !before;
    if (before && box_.y0 + box_.h < height_) note(first + box_.y0 + box_.h), before = false;
    return before;
  }

 private:
  int size_, low_ = -1;
  const float* mask_;
  const PasteBox& box_;
  std::int64_t height_, x_;
  TwoTaps across_;
  float above_ = 0, below_ = 0;  // the two of the mask's rows, at this column, that bit() mixes
};

// A block per mask. out: [masks] the number of changes of each mask, or, where kWrite, the changes: those of mask i
// from out[begin[i]] on.
template <bool kWrite>
__global__ void __launch_bounds__(kThreads)
    mask_changes_kernel(MaskChangesParams p, const float* masks, const float* boxes, const std::int32_t* image_size,
                        const std::int32_t* begin, std::int32_t* out) {
  __shared__ int sums[33];
  const std::int64_t mask = blockIdx.x;
  const float box[4] = {boxes[4 * mask], boxes[4 * mask + 1], boxes[4 * mask + 2], boxes[4 * mask + 3]};
  const std::int64_t height = image_size[2 * mask], width = image_size[2 * mask + 1];
  const PasteBox t = can_be_pasted(box) ? paste_box(box, p.size, height, width) : PasteBox{};
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
      Column(p, own, t, height, x).changes(before, [&](std::int64_t position) {
        *next++ = static_cast<std::int32_t>(position);
      });
      if (closes) *next = static_cast<std::int32_t>((x + 1) * height);
    }
    done += total;
  }
  if (!kWrite && threadIdx.x == 0) out[mask] = done;
}

// begin[i] becomes the sum of begin[0, i); begin[masks] the sum of all.
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

void count_mask_changes(const MaskChangesParams& p, const MaskChangesIn& in, std::int32_t* begin, cudaStream_t stream) {
  check(p);
  const std::int32_t* const none = nullptr;
  launch("count_mask_changes", mask_changes_kernel<false>, {.x = p.masks, .threads = kThreads}, stream, p, in.masks,
         in.boxes, in.image_size, none, begin);
  launch("sum_counts", sum_counts, {.threads = kThreads}, stream, p.masks, begin);
}

void write_mask_changes(const MaskChangesParams& p, const MaskChangesIn& in, const std::int32_t* begin,
                        std::int32_t* changes, cudaStream_t stream) {
  check(p);
  launch("write_mask_changes", mask_changes_kernel<true>, {.x = p.masks, .threads = kThreads}, stream, p, in.masks,
         in.boxes, in.image_size, begin, changes);
}

}  // namespace ttt::kernels::cuda
