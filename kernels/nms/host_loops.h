// The inner question of greedy NMS: does any kept box overlap this one by more than the threshold?
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/common/simd.h"

namespace ttt::kernels::host {

// Kept boxes over columns; padded to a whole number of vectors with boxes that touch nothing.
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

using OverlapsLoop = bool (*)(const Suppression& s, const KeptBoxes& kept, const float* box);
OverlapsLoop overlaps_loop(Isa isa);

}  // namespace ttt::kernels::host
