// Proposals without the host, in five launches: select and decode the best anchors (a block per image and level), NMS
// of all levels and images at once (two launches), merge an image's levels by rank, cut and write the rows.
#include <algorithm>

#include "kernels/common/block.h"
#include "kernels/common/box_math.h"
#include "kernels/common/launch.h"
#include "kernels/common/score_key.h"
#include "kernels/nms/nms.h"
#include "kernels/proposals/proposals.h"

namespace ttt::kernels::cuda {
namespace {

constexpr int kSelectThreads = 1024, kThreads = 256;

// Lists are numbered image * levels + level.
struct Work {
  std::uint64_t* key;     // [lists, capacity] score_key(logit, anchor), ascending
  float* box;             // [lists, capacity, 4]
  std::int32_t* count;    // [lists]
  std::uint64_t* words;   // of NMS
  std::int32_t* keep;     // [lists, capacity]
  std::int32_t* kept;     // [lists]
  std::uint64_t* merged;  // [images, merged_capacity] keys, ascending
  std::int32_t* source;   // [images, merged_capacity] which box: list * capacity + index
  std::int32_t* all;      // [images] how many are merged
  int capacity, merged_capacity;
};

// Before NMS, a level has no more boxes than its anchors.
std::int64_t boxes_of_level(const ProposalParams& p) {
  std::int64_t longest = 0;
  for (int l = 0; l < p.levels; ++l) longest = std::max(longest, p.level_start[l + 1] - p.level_start[l]);
  return std::min(p.pre_nms, longest);
}

// No more than the cut over all levels can survive from one level.
std::int64_t most_of_level(const ProposalParams& p) {
  const std::int64_t over_all = p.cut_over_batch ? p.post_nms_batch : p.post_nms;
  return std::min(p.post_nms_per_level > 0 ? std::min(p.post_nms_per_level, over_all) : over_all, boxes_of_level(p));
}

Work work_in(const ProposalParams& p, Workspace&& memory) {
  Work w{};
  const std::int64_t lists = p.images * p.levels, capacity = boxes_of_level(p), merged = p.levels * most_of_level(p);
  w.capacity = static_cast<int>(capacity);
  w.merged_capacity = static_cast<int>(merged);
  w.key = memory.take<std::uint64_t>(lists * capacity);
  w.box = memory.take<float>(4 * lists * capacity);
  w.count = memory.take<std::int32_t>(lists);
  w.words = memory.take<std::uint64_t>(nms_words({lists, w.capacity, nullptr, nullptr}));
  w.keep = memory.take<std::int32_t>(lists * capacity);
  w.kept = memory.take<std::int32_t>(lists);
  w.merged = memory.take<std::uint64_t>(p.images * merged);
  w.source = memory.take<std::int32_t>(p.images * merged);
  w.all = memory.take<std::int32_t>(p.images);
  return w;
}

__global__ void __launch_bounds__(kSelectThreads)
    select_anchors(ProposalParams p, const float* logits, const float* deltas, const float* anchors,
                   const std::int32_t* image_size, Work w) {
  __shared__ SelectScratch scratch;
  __shared__ int sums[33];
  auto* keys = dynamic_shared<std::uint64_t>();
  const int level = static_cast<int>(blockIdx.x);
  const std::int64_t image = blockIdx.y, list = image * p.levels + level, begin = p.level_start[level];
  const float* scores = logits + image * p.anchors;
  const auto key = [&](std::int64_t i, std::uint64_t& value) {
    const float score = scores[begin + i];
    value = score_key(score, static_cast<std::uint32_t>(begin + i));
    return score == score;
  };
  const int best = select_smallest(p.level_start[level + 1] - begin, w.capacity, key, scratch, keys);
  const float extra = p.coder.legacy ? 1.0f : 0.0f;
  const auto height = static_cast<float>(image_size[2 * image]), width = static_cast<float>(image_size[2 * image + 1]);
  int written = 0;
  for (int first = 0; first < best; first += kSelectThreads) {
    const int i = first + static_cast<int>(threadIdx.x);
    bool large = false;
    float box[4];
    if (i < best) {
      const std::int64_t a = key_index(keys[i]);
      float delta[4], anchor[4];
      for (int k = 0; k < 4; ++k) {
        delta[k] = deltas[4 * (image * p.anchors + a) + k];
        anchor[k] = anchors[4 * a + k];
      }
      decode_box(p.coder, delta, anchor, box);
      clip_box(box, height, width, extra);
      large = box_is_large(box, p.min_size, extra);
    }
    int here = 0;
    const std::int64_t at = list * w.capacity + written + block_exclusive_sum(large, sums, here);
    written += here;
    if (!large) continue;
    w.key[at] = keys[i];
    for (int k = 0; k < 4; ++k) w.box[4 * at + k] = box[k];
  }
  if (threadIdx.x == 0) w.count[list] = written;
}

// Keys of the kept boxes of a list, in order.
struct Kept {
  const std::uint64_t* key;
  const std::int32_t* keep;
  __device__ Kept(const Work& w, std::int64_t list)
      : key(w.key + list * w.capacity), keep(w.keep + list * w.capacity) {}
  __device__ std::uint64_t operator()(int i) const { return key[keep[i]]; }
};

// The place of a kept box among those of all levels: its own, and how many of each other level come before it.
__global__ void __launch_bounds__(kThreads) merge_levels(ProposalParams p, Work w) {
  const int level = static_cast<int>(blockIdx.x);
  const std::int64_t image = blockIdx.y, list = image * p.levels + level;
  const Kept own(w, list);
  for (int i = static_cast<int>(threadIdx.x); i < w.kept[list]; i += kThreads) {
    const std::uint64_t key = own(i);
    std::int64_t rank = i;
    for (int other = 0; other < p.levels; ++other)
      if (other != level) rank += count_below(Kept(w, image * p.levels + other), w.kept[image * p.levels + other], key);
    w.merged[image * w.merged_capacity + rank] = key;
    w.source[image * w.merged_capacity + rank] = static_cast<std::int32_t>(list * w.capacity + own.keep[i]);
  }
  if (level > 0 || threadIdx.x > 0) return;
  std::int32_t all = 0;
  for (int l = 0; l < p.levels; ++l) all += w.kept[image * p.levels + l];
  w.all[image] = all;
}

// How many of all images' proposals come before `key` of `image`: by score, then image, then anchor. One term a thread.
__device__ int before_in_batch(const ProposalParams& p, const Work& w, std::int64_t image, std::uint64_t key) {
  const std::uint64_t score = key >> 32 << 32, past = score + (std::uint64_t{1} << 32);
  int sum = 0;
  for (std::int64_t n = threadIdx.x; n < p.images; n += kThreads) {
    const std::uint64_t* keys = w.merged + n * w.merged_capacity;
    const std::uint64_t below = n == image ? key : (n < image ? past : score);
    sum += count_below([=](int i) { return keys[i]; }, w.all[n], below);
  }
  return sum;
}

// How many of its first proposals an image keeps, by bisection: their places in the batch ascend.
__device__ int cut_over_batch(const ProposalParams& p, const Work& w, std::int64_t image, int* sums) {
  int low = 0, high = w.all[image];
  while (low < high) {
    const int middle = (low + high) / 2;
    int place = 0;
    block_exclusive_sum(before_in_batch(p, w, image, w.merged[image * w.merged_capacity + middle]), sums, place);
    if (place < p.post_nms_batch) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

__global__ void __launch_bounds__(kThreads)
    write_proposals(ProposalParams p, Work w, float* boxes, float* scores, std::int32_t* count) {
  __shared__ int sums[33];
  const std::int64_t image = blockIdx.x;
  const int left = p.cut_over_batch ? cut_over_batch(p, w, image, sums) : w.all[image];
  const int rows = static_cast<int>(min(static_cast<std::int64_t>(left), p.post_nms));
  for (std::int64_t i = threadIdx.x; i < p.post_nms; i += kThreads) {
    const std::int64_t row = image * p.post_nms + i, merged = image * w.merged_capacity + i;
    scores[row] = i < rows ? key_score(w.merged[merged]) : 0.0f;
    for (int k = 0; k < 4; ++k) boxes[4 * row + k] = i < rows ? w.box[std::int64_t{4} * w.source[merged] + k] : 0.0f;
  }
  if (threadIdx.x == 0) count[image] = rows;
}

void check(const ProposalParams& p) {
  if (p.levels < 1 || p.levels > kMaxLevels || p.level_start[0] != 0 || p.level_start[p.levels] != p.anchors)
    throw UsageError("The levels' anchor ranges do not cover all anchors. Correct ProposalParams::level_start.");
  if (p.cut_over_batch && p.post_nms_batch < 1)
    throw UsageError("A cut over the batch wants a number of proposals. Set post_nms_batch.");
  if (p.images * p.levels * boxes_of_level(p) > 0x7FFFFFFF)
    throw UsageError("A batch has more than 2^31 boxes before NMS. Lower the batch or pre_nms.");
}

}  // namespace

std::size_t proposals_workspace(const ProposalParams& p) { return workspace_bytes(work_in, p); }

void proposals(const ProposalParams& p, const ProposalsIn& in, const ProposalsOut& out, void* workspace,
               cudaStream_t stream) {
  check(p);
  const Work w = work_in(p, Workspace(workspace));
  const Shape select{.x = p.levels,
                     .y = p.images,
                     .threads = kSelectThreads,
                     .shared = std::size_t(power_of_two_from(w.capacity)) * sizeof(std::uint64_t)};
  launch("select_anchors", select_anchors, select, stream, p, in.logits, in.deltas, in.anchors, in.image_size, w);
  nms_of_lists({p.images * p.levels, w.capacity, w.count, w.box}, p.nms_threshold, p.coder.legacy, most_of_level(p),
               w.words, w.keep, w.kept, stream);
  launch("merge_levels", merge_levels, {.x = p.levels, .y = p.images, .threads = kThreads}, stream, p, w);
  launch("write_proposals", write_proposals, {.x = p.images, .threads = kThreads}, stream, p, w, out.boxes, out.scores,
         out.count);
}

}  // namespace ttt::kernels::cuda
