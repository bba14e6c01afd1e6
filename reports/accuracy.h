// AP over epochs and time, of one run or of several seeds.
#pragma once

#include <vector>

#include "reports/compare.h"

namespace ttt::reports {

struct AccuracyOptions {
  std::vector<double> thresholds;  // of AP; empty: the runs' targets alone
  // when a threshold was crossed on a straight line between two evaluations, instead of the first that reached it
  bool interpolate = false;
};

Document accuracy(const std::vector<NamedRun>& runs, const AccuracyOptions& options);

}  // namespace ttt::reports
