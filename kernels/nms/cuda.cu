// Greedy NMS of many lists at once: a bit matrix in 64 x 64 tiles, then one warp per list scans it in score order (as
// torchvision's nms_kernel). The warp resolves 64 boxes at a time in registers, then removes the boxes they suppress.
#include "kernels/common/block.h"
#include "kernels/common/box_math.h"
#include "kernels/common/launch.h"
#include "kernels/nms/nms.h"

namespace ttt::kernels::cuda {
namespace {

constexpr int kTile = 64, kWordsPerLane = kMostBoxes / 64 / 32;
constexpr int kAhead = 8;  // rows of the matrix whose loads a lane has open

__global__ void __launch_bounds__(kTile)
    suppress_pairs(NmsLists in, float threshold, float extra, std::uint64_t* words) {
  __shared__ float columns[kTile][4];
  const int list = static_cast<int>(blockIdx.z), n = min(in.count[list], in.capacity);
  const int row = static_cast<int>(blockIdx.y) * kTile + static_cast<int>(threadIdx.x),
            first = static_cast<int>(blockIdx.x) * kTile;
  if (blockIdx.x < blockIdx.y || static_cast<int>(blockIdx.y) * kTile >= n || first >= n) return;
  const float* boxes = in.boxes + static_cast<std::int64_t>(list) * in.capacity * 4;
  const int here = min(kTile, n - first);
  for (int i = static_cast<int>(threadIdx.x); i < 4 * here; i += kTile) columns[i / 4][i % 4] = boxes[4 * first + i];
  __syncthreads();
  if (row >= n) return;
  const float own[4] = {boxes[4 * row], boxes[4 * row + 1], boxes[4 * row + 2], boxes[4 * row + 3]};
  std::uint64_t bits = 0;
  for (int i = max(0, row + 1 - first); i < here; ++i)
    if (suppresses(own, columns[i], threshold, extra)) bits |= std::uint64_t{1} << i;
  words[(static_cast<std::int64_t>(list) * in.capacity + row) * gridDim.x + blockIdx.x] = bits;
}

__device__ std::uint64_t lane_word(const std::uint64_t (&own)[kWordsPerLane], int word) {
  std::uint64_t value = 0;
  // By masks: nvcc would make an index of conditions, and so put the words into local memory.
#pragma unroll
  for (int k = 0; k < kWordsPerLane; ++k) value |= own[k] & (word / 32 == k ? ~std::uint64_t{0} : 0);
  return __shfl_sync(kAllLanes, value, word % 32);
}

__global__ void __launch_bounds__(32) scan_suppressed(
    NmsLists in, int width, const std::uint64_t* words, int most, std::int32_t* keep, std::int32_t* kept_out) {
  const std::int64_t list = blockIdx.x, first = list * in.capacity;
  const int lane = static_cast<int>(threadIdx.x), n = min(in.count[list], in.capacity);
  std::uint64_t removed[kWordsPerLane] = {};  // lane w % 32 holds word w of the list
  int kept = 0;
  // Which of 64 boxes suppress which of the same: two rows in each lane, loaded while the 64 before are looked at.
  std::uint64_t next_low = 0, next_high = 0;
  const auto look_ahead = [&](int word) {
    const std::uint64_t* own = words + (first + word * 64 + lane) * width + word;
    next_low = word * 64 + lane < n ? own[0] : 0;
    next_high = word * 64 + lane + 32 < n ? own[32 * width] : 0;
  };
  look_ahead(0);
  for (int word = 0; word * 64 < n && kept < most; ++word) {
    const int here = min(64, n - word * 64);
    const std::uint64_t among_low = next_low, among_high = next_high;
    look_ahead(word + 1);
    std::uint64_t gone = lane_word(removed, word), survivors = 0;
    for (int b = 0; b < here && kept < most; ++b) {
      const std::uint64_t row = __shfl_sync(kAllLanes, b < 32 ? among_low : among_high, b % 32);
      if (gone >> b & 1) continue;
      if (lane == 0) keep[first + kept] = word * 64 + b;
      ++kept;
      survivors |= std::uint64_t{1} << b;
      gone |= row;
    }
    for (std::uint64_t left = survivors; left != 0;) {
      std::uint64_t loaded[kAhead][kWordsPerLane];
      int box = 0;
#pragma unroll
      for (int i = 0; i < kAhead; ++i) {
        if (left != 0) box = __ffsll(static_cast<long long>(left)) - 1;  // else the last one again, which adds nothing
        left &= left - 1;
        const std::uint64_t* row = words + (first + word * 64 + box) * width;
#pragma unroll
        for (int k = 0; k < kWordsPerLane; ++k) {
          const int w = lane + 32 * k;
          loaded[i][k] = w > word && w * 64 < n ? row[w] : 0;
        }
      }
#pragma unroll
      for (int i = 0; i < kAhead; ++i)
#pragma unroll
        for (int k = 0; k < kWordsPerLane; ++k) removed[k] |= loaded[i][k];
    }
  }
  if (lane == 0) kept_out[list] = kept;
}

__global__ void __launch_bounds__(1) set_count(std::int32_t value, std::int32_t* count) { *count = value; }

}  // namespace

void nms_of_lists(const NmsLists& in, float threshold, bool legacy, std::int64_t most, std::uint64_t* words,
    std::int32_t* keep, std::int32_t* kept, cudaStream_t stream) {
  if (!(threshold >= 0.0f)) throw UsageError("NMS wants a threshold of at least 0. Correct nms_threshold.");
  if (in.capacity > kMostBoxes)
    throw UsageError("NMS on a GPU takes at most " + std::to_string(kMostBoxes) + " boxes in a list, not " +
                     std::to_string(in.capacity) + ". Lower the number of boxes before NMS (pre_nms).");
  const int width = (in.capacity + kTile - 1) / kTile;
  launch("suppress_pairs", suppress_pairs, {.x = width, .y = width, .z = in.lists, .threads = kTile}, stream, in,
      threshold, legacy ? 1.0f : 0.0f, words);
  launch("scan_suppressed", scan_suppressed, {.x = in.lists, .threads = 32}, stream, in, width, words,
      static_cast<int>(most < in.capacity ? most : in.capacity), keep, kept);
}

std::size_t nms_workspace(std::int64_t n) {
  Workspace memory(nullptr);
  memory.take<std::int32_t>(1);
  memory.take<std::uint64_t>(nms_words({1, static_cast<int>(n), nullptr, nullptr}));
  return memory.bytes();
}

void nms(std::int64_t n, const float* boxes, float threshold, bool legacy, std::int32_t* keep, std::int32_t* count,
    void* workspace, cudaStream_t stream) {
  Workspace memory(workspace);
  auto* all = memory.take<std::int32_t>(1);
  auto* words = memory.take<std::uint64_t>(n > kMostBoxes ? 0 : nms_words({1, static_cast<int>(n), nullptr, nullptr}));
  if (n > kMostBoxes || n < 0)
    throw UsageError("NMS on a GPU takes at most " + std::to_string(kMostBoxes) + " boxes, not " + std::to_string(n) +
                     ". Lower their number.");
  launch("set_count", set_count, {.threads = 1}, stream, static_cast<std::int32_t>(n), all);
  nms_of_lists({1, static_cast<int>(n), all, boxes}, threshold, legacy, n, words, keep, count, stream);
}

}  // namespace ttt::kernels::cuda
