// The twelve numbers, and the twelve lines.
#pragma once

#include <array>
#include <span>
#include <string>

#include "eval/coco/accumulate.h"

namespace ttt::eval::coco {

// The order in which numpy adds up an array of more than 8192 numbers changed with 2.3; the last digit of a mean with
// it.
enum class NumpySum { kFrom2_3, kBefore2_3 };

// numpy.sum of a contiguous array, to the bit.
double numpy_sum(std::span<const double> values, NumpySum rule);

using Stats = std::array<double, 12>;
// AP, AP50, AP75, AP small, medium, large; AR at 1, 10, 100 detections, AR small, medium, large. -1: nothing counts.
Stats summarise(const Curves& curves, NumpySum rule);

// pycocotools' text, with three digits; one line each, the last with a newline too.
std::string summary_text(const Stats& stats);

}  // namespace ttt::eval::coco
