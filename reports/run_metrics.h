// The numbers that are derived from one run's record; METRICS.md has the same definitions in words.
#pragma once

#include <optional>
#include <vector>

#include "result/run_record.h"

namespace ttt::reports {

// time to target = start-up + training + evaluation + checkpoints + lost + unaccounted, and total = time to target +
// after. The two totals come from the clock, training and evaluation from their samples, so `unaccounted_s` is a check
// of one by the other.
struct TimeFactors {
  bool reached = false;   // factors up to the evaluation that reached the target; else of the whole run
  double epochs = 0;      // passes over the training images; 0 where their number is unknown
  double epoch_s = 0;     // training_s / epochs; 0 where unknown
  double startup_s = 0;   // clocks.init_s
  double training_s = 0;  // sum of the steps' times
  double evaluation_s = 0;
  double checkpoint_s = 0;  // stalls
  double lost_s = 0;        // from checkpoints that the run resumed from to its resumption
  double after_s = 0;       // from the target (or the run's end) to the writing of the result
  double total_s = 0;
  double time_to_target_s = 0;
  double unaccounted_s = 0;

  // Beyond this the sum does not explain the total: see METRICS.md for the reason of the bound.
  bool adds_up() const;
};
TimeFactors time_factors(const result::RunRecord& record);

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

double train_images_of(const result::RunRecord& record);  // 0 where unknown

// Passes over the training images until an evaluation; the epochs that were finished where the number of images is
// unknown.
double epochs_of(const result::RunRecord& record, const result::Evaluation& evaluation);
// The run's metrics that stand for it: of each group the first `of_group`, and those without a group.
std::vector<std::string> headline_metrics(const result::RunRecord& record, std::size_t of_group = 1);
// "Target: box AP >= 0.500 and mask AP >= 0.500 in one evaluation."
std::string target_text(const result::Metrics& target);

// The first evaluation that reaches the target.
std::optional<result::Evaluation> reaching_evaluation(const result::RunRecord& record);

}  // namespace ttt::reports
