// The factors of a run's time, which its last lines and the reports print; reports/METRICS.md derives them.
#pragma once

#include <optional>

#include "result/crossing.h"
#include "result/run_record.h"

namespace ttt::result {

// time to target = start-up + training + evaluation + checkpoints + lost + unaccounted, and total = time to target +
// after. The two totals come from the clock, training and evaluation from their samples, so `unaccounted_s` is a check
// of one by the other.
struct TimeFactors {
  bool reached = false;   // factors up to the evaluation that reached the target; else of the whole run
  double images = 0;      // of the steps
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
  // Between evaluations (result/crossing.h). Nothing where the target was not reached or no crossing is known.
  std::optional<Crossing> crossing;
  double time_to_crossing_s = 0;  // time to target, with the training between the two added or taken off

  // Beyond this the sum does not explain the total: see METRICS.md for the reason of the bound.
  bool adds_up() const;
};
TimeFactors time_factors(const RunRecord& record);

double train_images_of(const RunRecord& record);  // 0 where unknown
// All images / all step times; nothing without steps.
std::optional<double> training_rate(const RunRecord& record);
// The first evaluation that reaches the target.
std::optional<Evaluation> reaching_evaluation(const RunRecord& record);

}  // namespace ttt::result
