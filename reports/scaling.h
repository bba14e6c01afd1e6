// The effect of more ranks on throughput and on epochs to target, reported apart.
#pragma once

#include <string>
#include <vector>

#include "reports/compare.h"

namespace ttt::reports {

// Results with at least two numbers of ranks. They may differ in the ranks, in settings of `allowed`, and in one of
// global batch and images of a rank. Throws UsageError naming the key of another difference.
Document scaling(const std::vector<NamedRun>& runs, const std::vector<std::string>& allowed);

}  // namespace ttt::reports
