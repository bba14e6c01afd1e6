// The numbers that are derived from one run's record; METRICS.md has the same definitions in words.
#pragma once

#include <optional>
#include <vector>

#include "result/time_factors.h"

namespace ttt::reports {

using result::TimeFactors;

// Stalls of checkpoints / time from each to the next, over those pairs between which the run was not interrupted;
// nothing where there is none.
std::optional<double> stall_share(const result::RunRecord& record);

struct PhaseShare {
  std::string name;
  double median_s = 0;
  double share = 0;  // of the sum of all steps' times, in [0, 1]
};
// The phases in their order, then "waiting for the slowest rank" where step times are the maximum over ranks and phases
// the mean. Empty without steps.
std::vector<PhaseShare> phase_shares(const result::RunRecord& record);

struct Spread {
  double median = 0, p5 = 0, p95 = 0;
};
Spread spread(const std::vector<double>& samples);  // not empty

// Images per second of every step with a positive time.
std::vector<double> step_rates(const result::RunRecord& record);

// Passes over the training images until an evaluation; the epochs that were finished where the number of images is
// unknown.
double epochs_of(const result::RunRecord& record, const result::Evaluation& evaluation);
// The run's metrics that stand for it: of each group the first `of_group`, and those without a group.
std::vector<std::string> headline_metrics(const result::RunRecord& record, std::size_t of_group = 1);
double epochs_to_crossing(const result::RunRecord& record);  // 0 where it is not known
// "The trend of mask AP met the target at 3.66 epochs (3.58 to 3.74, 95 % interval, through 16 evaluations that scatter
// by 0.012)."
std::string crossing_text(const result::Crossing& crossing);
// "Target: box AP >= 0.500 and mask AP >= 0.500 in one evaluation."
std::string target_text(const result::Metrics& target);

}  // namespace ttt::reports
