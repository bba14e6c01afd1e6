// Greedy NMS over boxes in descending order of score; below it the functions that proposals and detections share.
#pragma once

#include <vector>

#include "kernels/common/operation.h"
#include "kernels/common/simd.h"

namespace ttt::kernels {

// in:  boxes [n, 4] x1 y1 x2 y2 [pixel]; threshold: a box goes where its IoU with a kept one is above it;
//      legacy: widths and heights are x2 - x1 + 1, as in Detectron
// out: keep [n] indices into boxes, ascending; how many: returned on the host, count [1] on the device
namespace host {
std::int64_t nms(std::int64_t n, const float* boxes, float threshold, bool legacy, std::int32_t* keep);
}
namespace cuda {
std::size_t nms_workspace(std::int64_t n);
void nms(std::int64_t n, const float* boxes, float threshold, bool legacy, std::int32_t* keep, std::int32_t* count,
    void* workspace, cudaStream_t stream);
}  // namespace cuda

namespace host {

// Kept boxes as columns, padded to a whole number of vectors with boxes that touch nothing.
class KeptBoxes {
 public:
  explicit KeptBoxes(std::int64_t capacity);
  void clear();
  void add(const float* box, float extra);

  std::int64_t size = 0;
  std::vector<float> x1, y1, x2, y2, area;
};

struct Suppression {
  float threshold;
  float extra;  // 1: legacy boxes
};

// Whether any kept box overlaps `box` by more than the threshold.
using OverlapsLoop = bool (*)(const Suppression& s, const KeptBoxes& kept, const float* box);
OverlapsLoop overlaps_loop(Isa isa);

// boxes: [n, 4]. Stops after `most` kept. Returns how many; keep[i] is an index into boxes.
std::int64_t greedy_nms(
    std::int64_t n, const float* boxes, const Suppression& s, std::int64_t most, KeptBoxes& kept, std::int32_t* keep);

}  // namespace host

namespace cuda {

inline constexpr int kMostBoxes = 4096;  // in a list: a lane of the scanning warp holds two words of 64

// Lists of boxes in descending order of score, `capacity` boxes apart; list l has count[l] of them.
struct NmsLists {
  std::int64_t lists;
  int capacity;
  const std::int32_t* count;  // [lists]
  const float* boxes;         // [lists, capacity, 4]
};

// Size of words[list][row][tile]: bit b is set where box `row` suppresses box 64 tile + b, for boxes behind `row`.
inline std::int64_t nms_words(const NmsLists& in) { return in.lists * in.capacity * ((in.capacity + 63) / 64); }

// out: keep [lists, capacity] indices into the list, ascending; kept [lists] how many, at most `most`
void nms_of_lists(const NmsLists& in, float threshold, bool legacy, std::int64_t most, std::uint64_t* words,
    std::int32_t* keep, std::int32_t* kept, cudaStream_t stream);

}  // namespace cuda

}  // namespace ttt::kernels
