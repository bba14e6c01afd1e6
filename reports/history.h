// A number over commits: one series of each machine, with the steps in it.
#pragma once

#include <string>
#include <vector>

#include "reports/compare.h"
#include "reports/document.h"

namespace ttt::reports {

// Throws UsageError where no run has the metric.
Document history(const std::vector<NamedRun>& runs, const std::string& metric);

}  // namespace ttt::reports
