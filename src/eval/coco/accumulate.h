// Precision and recall of one category from its matched detections.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "eval/coco/match.h"
#include "eval/coco/params.h"

namespace ttt::eval::coco {

// A detection in the order of the curve.
struct Ranked {
  double score;
  std::uint32_t match;  // position in the category's matches
  std::uint32_t rank;   // position among its image's detections of the category: below 1, 10, 100 it counts
};

// pycocotools' arrays in C order: precision and scores [T][R][K][A][M], recall [T][K][A][M]; -1 where a category has no
// object that counts.
struct Curves {
  std::int64_t categories = 0;  // K
  std::vector<double> precision, recall, scores;
  void resize(std::int64_t categories);
};

// Fills category k of `out`, all of it. `ranked`: by falling score, ties by image, then by place in the image.
// `counted`: objects that count, by area range.
void accumulate(std::span<const Ranked> ranked, std::span<const Match> matches,
    const std::array<std::int64_t, kAreas>& counted, std::int64_t k, Curves& out);

}  // namespace ttt::eval::coco
