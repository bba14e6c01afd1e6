// The growth of the weights' norms, split: the gradient pushes weights outward or inward, the decay pulls them back.
#pragma once

#include <optional>
#include <vector>

#include "reports/document.h"
#include "result/run_record.h"

namespace ttt::reports {

// Change of ln |w| in a step, means over the samples. SGD moves weights w by u = -r v. In each step the velocity v
// becomes m v + g + d w. The rate is r, the decay d, the momentum m. So |w|^2 changes by 2 w u + |u|^2. In the long run
// w v = (w g + d |w|^2 - m r |v|^2) / (1 - m): the momentum's memory makes the step's length count more.
struct WeightSplit {
  double gradient = 0;  // -r / (1 - m) w g / |w|^2
  double decay = 0;     // -r d / (1 - m)
  double length = 0;    // (1 + m) / (1 - m) |u|^2 / (2 |w|^2)
  double measured = 0;  // of ln |w|, from the first sample to the last
};
// Of one group. Nothing without train.telemetry.weight_split or for fewer than two samples. Nothing for Nesterov's
// momentum and for other optimizers than sgd: their updates are not the velocity.
std::optional<WeightSplit> weight_split(const result::RunRecord& run, const result::TelemetryGroup& group);

Cell growth_cell(double per_step);  // of ln |w| in a step, printed for 1000
std::optional<Table> split_table(const result::RunRecord& run);

}  // namespace ttt::reports
