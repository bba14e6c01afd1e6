// A rate that falls in steps.
#pragma once

#include "train/schedules/schedule.h"

namespace ttt::train {

// Iteration i is decayed as often as there are decay steps <= i: the reference's bisect_right over its scheduler's
// counter, which is 1 in the first iteration. After an epoch means: from the next one's first iteration on.
class StepDecay final : public Schedule {
 public:
  // Throws UsageError where both kinds of decay are given.
  StepDecay(const ScheduleConfig& config, const ScheduleInputs& inputs);
  const std::vector<std::int64_t>& decay_steps() const { return decay_steps_; }  // of decay_epochs too

 private:
  double decay(std::int64_t iteration) const override;
  result::Json details() const override { return {{"decay_steps", decay_steps_}}; }

  std::vector<std::int64_t> decay_steps_;
};

}  // namespace ttt::train
