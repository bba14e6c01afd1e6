// Overlap of a detection with an object, as pycocotools' maskApi computes it, to the bit.
#pragma once

#include <array>

#include "eval/coco/ground_truth.h"

namespace ttt::eval::coco {

// Boxes are continuous: no +1. Against a crowd the union is the detection's own area.
double box_iou(const std::array<double, 4>& detection, const std::array<double, 4>& object, bool crowd);

// Exact where the overlap is 0.5 or more, the lowest threshold; anything below 0.5 may come out as 0. Masks of
// different sizes have none.
double mask_iou(const ttt::coco::RleView& detection, const MaskSummary& summary, const Object& object);

}  // namespace ttt::eval::coco
