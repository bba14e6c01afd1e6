// Matching without a matrix of overlaps: a thread per candidate computes them where they are needed, twice where low
// quality matches are wanted. The image's ground truth passes through shared memory, 128 boxes at a time.
#include "kernels/common/block.h"
#include "kernels/common/box_math.h"
#include "kernels/common/launch.h"
#include "kernels/match/match.h"

namespace ttt::kernels::cuda {
namespace {

constexpr int kThreads = 256, kTurn = 128;  // boxes of the ground truth at a time

struct Candidate {
  std::int64_t image, index;
  bool exists;
  float box[4] = {0, 0, 0, 0};

  __device__ Candidate(const MatchParams& p, const float* candidates)
      : image(blockIdx.y),
        index(static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x),
        exists(index < p.candidates) {
    const std::int64_t row = (p.shared_candidates ? 0 : image * p.candidates) + index;
    if (exists)
      for (int i = 0; i < 4; ++i) box[i] = candidates[4 * row + i];
  }
};

__device__ int gt_in_image(const MatchParams& p, const std::int32_t* gt_count, std::int64_t image) {
  const std::int64_t n = gt_count[image];
  return static_cast<int>(n < 0 ? 0 : min(n, p.gt_capacity));
}

// Calls visit(g, box) for every box of the image's ground truth, all threads together.
template <class Visit>
__device__ void for_each_gt(const float* gt, int count, float (*turn)[4], const Visit& visit) {
  for (int first = 0; first < count; first += kTurn) {
    const int here = min(kTurn, count - first);
    __syncthreads();
    for (int i = static_cast<int>(threadIdx.x); i < 4 * here; i += kThreads) turn[i / 4][i % 4] = gt[4 * first + i];
    __syncthreads();
    for (int g = 0; g < here; ++g) visit(first + g, turn[g]);
  }
}

// best: [images, gt_capacity] bits of each box's highest overlap with a candidate, zero at first. Overlaps are not
// negative, so their bits have their order.
__global__ void __launch_bounds__(kThreads)
    best_of_gt(MatchParams p, const float* gt, const std::int32_t* gt_count, const float* candidates, unsigned* best) {
  __shared__ float turn[kTurn][4];
  const Candidate c(p, candidates);
  const float extra = p.legacy ? 1.0f : 0.0f;
  const int count = gt_in_image(p, gt_count, c.image);
  for_each_gt(gt + c.image * p.gt_capacity * 4, count, turn, [&](int g, const float* box) {
    const unsigned overlap = c.exists ? __float_as_uint(box_iou(box, c.box, extra)) : 0;
    const unsigned highest = __reduce_max_sync(kAllLanes, overlap);
    if (threadIdx.x % 32 == 0 && highest > 0) atomicMax(&best[c.image * p.gt_capacity + g], highest);
  });
}

__global__ void __launch_bounds__(kThreads)
    match_kernel(MatchParams p, const float* gt, const std::int32_t* gt_count, const float* candidates,
                 const std::uint8_t* visible, const unsigned* best, std::int32_t* matched) {
  __shared__ float turn[kTurn][4];
  const Candidate c(p, candidates);
  const float extra = p.legacy ? 1.0f : 0.0f;
  const int count = gt_in_image(p, gt_count, c.image);
  float highest = 0;
  int argmax = 0;
  bool tied = false;  // with the best overlap of some box
  for_each_gt(gt + c.image * p.gt_capacity * 4, count, turn, [&](int g, const float* box) {
    const float overlap = box_iou(box, c.box, extra);
    if (overlap > highest) {
      highest = overlap;
      argmax = g;
    }
    if (p.allow_low_quality) tied = tied || __float_as_uint(overlap) == best[c.image * p.gt_capacity + g];
  });
  if (!c.exists) return;
  std::int32_t result = highest < p.low ? -1 : (highest < p.high ? -2 : argmax);
  if (tied) result = argmax;
  if (count == 0) result = -1;
  const std::int64_t row = c.image * p.candidates + c.index;
  if (visible != nullptr && !visible[row]) result = -2;
  matched[row] = result;
}

}  // namespace

std::size_t match_workspace(const MatchParams& p) {
  return p.allow_low_quality ? static_cast<std::size_t>(p.images * p.gt_capacity) * sizeof(unsigned) : 0;
}

void match(const MatchParams& p, const MatchIn& in, std::int32_t* matched, void* workspace, cudaStream_t stream) {
  if (!(p.low <= p.high)) throw UsageError("A matcher's low threshold exceeds its high one. Set low <= high.");
  const Shape shape{.x = blocks_for(p.candidates, kThreads), .y = p.images, .threads = kThreads};
  auto* best = static_cast<unsigned*>(workspace);
  if (p.allow_low_quality) {
    clear(best, match_workspace(p), stream);
    launch("best_of_gt", best_of_gt, shape, stream, p, in.gt, in.gt_count, in.candidates, best);
  }
  launch("match", match_kernel, shape, stream, p, in.gt, in.gt_count, in.candidates, in.visible, best, matched);
}

}  // namespace ttt::kernels::cuda
