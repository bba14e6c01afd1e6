// From detections to what is drawn of them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "eval/coco/detection.h"
#include "eval/draw/draw.h"

namespace ttt::eval {

// Those with this score or a higher one, else the `at_least` best; with rising score, so that the best is drawn over
// the others.
std::vector<const coco::Detection*> worth_showing(
    std::span<const coco::Detection> detections, double threshold, std::size_t at_least = 0);

// Named by its category and its score, in the category's colour. The detection must outlive it.
Marked marked(const coco::Detection& detection, const std::string& category);

}  // namespace ttt::eval
