// The effect of more ranks on throughput and on epochs to target, reported apart.
#pragma once

#include <string>
#include <vector>

#include "reports/compare.h"

namespace ttt::reports {

// Results with at least two numbers of ranks. Throws UsageError, naming the key, where they differ in more than the
// ranks: in a setting that is not in `allowed`, in the data, or in both the global batch and the images of a rank.
Document scaling(const std::vector<NamedRun>& runs, const std::vector<std::string>& allowed);

}  // namespace ttt::reports
