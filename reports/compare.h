// Results side by side: two machines, or two commits.
#pragma once

#include <string>
#include <vector>

#include "core/statistics.h"
#include "reports/document.h"
#include "result/run_record.h"

namespace ttt::reports {

struct NamedRun {
  std::string name;  // of its file
  result::RunRecord record;
};

// Runs to a target; the first is what the others are compared with. `all_keys`: names every key that differs, check
// sums included. Throws UsageError for fewer than two.
Document compare(const std::vector<NamedRun>& runs, bool all_keys = false);

// Relative change of the step's time, b / a - 1, with its interval. METRICS.md has the method.
struct StepTimeChange {
  std::optional<Interval> interval;
  std::string reason;  // why there is none: the key in which the steps are not the same work, or that they are too few
  std::size_t steps = 0;  // that both runs have: what the interval is over
};
StepTimeChange step_time_change(const result::RunRecord& a, const result::RunRecord& b);

}  // namespace ttt::reports
