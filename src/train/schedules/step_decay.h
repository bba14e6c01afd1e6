// Linear warm-up (Goyal et al. 2017) and step decay.
#pragma once

#include "train/schedules/schedule.h"

namespace ttt::train {

// Iteration i > decay_steps[k] is decayed k + 1 times.
class StepDecay final : public Schedule {
 public:
  // Throws UsageError where both kinds of decay are given.
  StepDecay(const ScheduleConfig& config, const ScheduleInputs& inputs);
  double lr(std::int64_t iteration) const override;
  result::Json describe() const override;
  double base_lr() const { return config_.lr; }                                  // at this global batch
  double warmup_slope() const;                                                   // rise of the rate per iteration; 0 without warm-up
  const std::vector<std::int64_t>& decay_steps() const { return decay_steps_; }  // also where decay_epochs said them

 private:
  ScheduleConfig config_;
  std::vector<std::int64_t> decay_steps_;
};

}  // namespace ttt::train
