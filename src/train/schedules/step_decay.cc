#include "train/schedules/step_decay.h"

#include <algorithm>
#include <cmath>

namespace ttt::train {

StepDecay::StepDecay(const ScheduleConfig& config, const ScheduleInputs& inputs)
    : Schedule(config, inputs), decay_steps_(config.decay_steps) {
  check(config);
  for (double epoch : config.decay_epochs)
    decay_steps_.push_back(
        static_cast<std::int64_t>(std::llround(epoch * static_cast<double>(inputs.steps_per_epoch))) + 1);
}

double StepDecay::decay(std::int64_t iteration) const {
  const auto decays =
      std::count_if(decay_steps_.begin(), decay_steps_.end(), [&](std::int64_t s) { return iteration >= s; });
  return std::max(config().final_fraction, std::pow(config().decay_factor, static_cast<double>(decays)));
}

std::unique_ptr<Schedule> make_step_decay(const ScheduleConfig& config, const ScheduleInputs& inputs) {
  return std::make_unique<StepDecay>(config, inputs);
}

}  // namespace ttt::train
