#include "train/schedules/step_decay.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace ttt::train {

StepDecay::StepDecay(const ScheduleConfig& config, const ScheduleInputs& inputs)
    : config_(config), decay_steps_(config.decay_steps) {
  if (config.reference_batch > 0) config_.lr *= static_cast<double>(inputs.global_batch) / static_cast<double>(config.reference_batch);
  if (!config.decay_steps.empty() && !config.decay_epochs.empty())
    throw UsageError("train.schedule.decay_steps and train.schedule.decay_epochs are both set: keep one of them.");
  for (double epoch : config.decay_epochs)
    decay_steps_.push_back(static_cast<std::int64_t>(std::llround(epoch * static_cast<double>(inputs.steps_per_epoch))));
}

double StepDecay::warmup_slope() const {
  return config_.warmup_steps > 0 ? config_.lr * (1 - config_.warmup_start) / static_cast<double>(config_.warmup_steps) : 0;
}

double StepDecay::lr(std::int64_t iteration) const {
  double lr = config_.lr;
  if (iteration < config_.warmup_steps) {
    const double done = static_cast<double>(iteration) / static_cast<double>(config_.warmup_steps);
    lr *= config_.warmup_start + (1 - config_.warmup_start) * done;
  }
  const auto decays = std::count_if(decay_steps_.begin(), decay_steps_.end(), [&](std::int64_t s) { return iteration > s; });
  return lr * std::pow(config_.decay_factor, static_cast<double>(decays));
}

result::Json StepDecay::describe() const {
  return {{"kind", "step_decay"}, {"base_lr", config_.lr}, {"warmup_steps", config_.warmup_steps}, {"decay_steps", decay_steps_}};
}

std::unique_ptr<Schedule> make_step_decay(const ScheduleConfig& config, const ScheduleInputs& inputs) {
  return std::make_unique<StepDecay>(config, inputs);
}

}  // namespace ttt::train
