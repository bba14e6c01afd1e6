// IoU of one ground truth box with a block of candidates, stored as columns.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "kernels/common/simd.h"

namespace ttt::kernels::host {

inline constexpr int kMatchBlock = 256;

// Columns are padded to a whole number of vectors with boxes that touch nothing.
struct alignas(64) CandidateBlock {
  float x1[kMatchBlock], y1[kMatchBlock], x2[kMatchBlock], y2[kMatchBlock], area[kMatchBlock];
  float iou[kMatchBlock];            // with the last ground truth passed to iou()
  float best[kMatchBlock];           // highest IoU so far, with the ground truth
  std::int32_t argmax[kMatchBlock];  // that had it first
  float lo_x, lo_y, hi_x, hi_y;      // bounding box of the block
  float extra;
  int size;
};

struct MatchLoops {
  // Fills b.iou; false (and b.iou untouched) where the box lies outside the block's bounding box: all are 0.
  bool (*iou)(CandidateBlock& b, const float* gt);
  // b.best and b.argmax = max(b.best, b.iou), the first of equals staying; returns the highest of b.iou.
  float (*update)(CandidateBlock& b, std::int32_t gt_index);
};
MatchLoops match_loops(Isa isa);

inline void fill_block(const float* boxes, std::int64_t size, float extra, CandidateBlock& b) {
  b.size = static_cast<int>(size);
  b.extra = extra;
  b.lo_x = b.lo_y = std::numeric_limits<float>::max();
  b.hi_x = b.hi_y = std::numeric_limits<float>::lowest();
  for (int i = 0; i < b.size; ++i) {
    const float* box = boxes + 4 * i;
    b.x1[i] = box[0], b.y1[i] = box[1], b.x2[i] = box[2], b.y2[i] = box[3];
    b.area[i] = (box[2] - box[0] + extra) * (box[3] - box[1] + extra);
    b.lo_x = std::min(b.lo_x, box[0]), b.lo_y = std::min(b.lo_y, box[1]);
    b.hi_x = std::max(b.hi_x, box[2]), b.hi_y = std::max(b.hi_y, box[3]);
  }
  for (int i = b.size; i < kMatchBlock; ++i) {
    b.x1[i] = b.y1[i] = std::numeric_limits<float>::max();
    b.x2[i] = b.y2[i] = std::numeric_limits<float>::lowest();
    b.area[i] = 1.0f;
  }
  std::fill_n(b.best, kMatchBlock, 0.0f);
  std::fill_n(b.argmax, kMatchBlock, 0);
}

}  // namespace ttt::kernels::host
