// Several runs of one system as one number: MLPerf's Olympic mean.
#pragma once

#include <vector>

#include "reports/compare.h"
#include "reports/document.h"

namespace ttt::reports {

// A block for each group of runs that are repetitions of each other: same machines, ranks, commit, data and settings but for the seed, traces and saved
// weights. The order of the files does not matter. Fewer than five runs, or two that did not reach the target, have no score: a sentence says so, and
// which key tells a group from the others.
Document score(const std::vector<NamedRun>& runs);

// Whether any group has a score.
bool has_score(const std::vector<NamedRun>& runs);

}  // namespace ttt::reports
