// The first screen about techniques: rows by effect with a plot of their intervals, the others in one line each.
#pragma once

#include <string>
#include <vector>

#include "reports/compare.h"
#include "reports/document.h"

namespace ttt::reports {

// Of all runs together; of several results, a letter says which. A run of a training tells what is in the recipe where
// comparisons do not. Only a sentence where there is no comparison.
Document ranked_blocks(const std::vector<NamedRun>& runs);

// An interval as "-*--", and "|" at 0, `width` columns for `low` to `high`.
std::string interval_plot(const Interval& interval, double low, double high, std::size_t width);

}  // namespace ttt::reports
