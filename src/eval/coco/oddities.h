// Contents of files that pycocotools takes without a word, and that a user hardly means. Evaluation treats them as
// pycocotools does.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "eval/coco/detection.h"
#include "eval/coco/ground_truth.h"

namespace ttt::eval::coco {

// One text for each kind that is there, with its count: "annotations of unlisted images: 3 (they do not count)".
// Sizes of masks are compared where `truth` has masks.
std::vector<std::string> oddities(const ttt::coco::Dataset& dataset, const GroundTruth& truth);
std::vector<std::string> oddities(std::span<const DetectionView> detections, const GroundTruth& truth);

}  // namespace ttt::eval::coco
