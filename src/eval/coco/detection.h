// Detections, and the two ways of comparing them with the ground truth (boxes, masks).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "coco/rle.h"

namespace ttt::eval::coco {

enum class IouType { kBbox, kSegm };
inline const char* name(IouType type) { return type == IouType::kBbox ? "bbox" : "segm"; }

struct Detection {
  std::int64_t image_id = 0, category_id = 0;  // COCO's ids
  double score = 0;
  std::array<double, 4> bbox{};  // x, y, width, height in pixels
  ttt::coco::Rle mask;           // may be left empty where only boxes are evaluated
};

// The same, where the mask belongs to someone else, and with the areas that sort a detection that matches nothing
// into small, medium and large.
struct DetectionView {
  std::int64_t image_id = 0, category_id = 0;
  double score = 0;
  std::array<double, 4> bbox{};
  std::array<double, 2> area{};  // by IouType
  ttt::coco::RleView mask;
};

// Areas: width x height of the box for kBbox, the mask's pixels for kSegm, as pycocotools has them for two result
// files, one with boxes and one with masks only. (A single file with both has the box's area in both evaluations,
// which moves AP of small, medium and large objects by up to 0.02; results.h does that for files.)
std::vector<DetectionView> views(std::span<const Detection> detections);

// Bytes that a rank sends to another, and back. Scores and boxes keep their bits; masks travel as run-length strings.
// deserialise throws DataError for bytes that serialise did not write.
std::string serialise(std::span<const Detection> detections);
std::vector<Detection> deserialise(std::string_view bytes);

}  // namespace ttt::eval::coco
