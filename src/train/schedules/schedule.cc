#include "train/schedules/schedule.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace ttt::train {

void check(const ScheduleConfig& config) {
  if (!config.decay_steps.empty() && !config.decay_epochs.empty())
    throw UsageError("train.schedule.decay_steps and train.schedule.decay_epochs are both set: keep one of them.");
  if (!std::is_sorted(config.decay_steps.begin(), config.decay_steps.end()) || !std::is_sorted(config.decay_epochs.begin(), config.decay_epochs.end()))
    throw UsageError("train.schedule.decay_steps and train.schedule.decay_epochs must ascend: put them in order.");
}

Schedule::Schedule(const ScheduleConfig& config, std::int64_t global_batch, std::int64_t steps_per_epoch)
    : config_(config), decay_steps_(config.decay_steps) {
  if (config.reference_batch > 0) config_.lr *= static_cast<double>(global_batch) / static_cast<double>(config.reference_batch);
  for (double epoch : config.decay_epochs)
    decay_steps_.push_back(static_cast<std::int64_t>(std::llround(epoch * static_cast<double>(steps_per_epoch))));
}

double Schedule::warmup_slope() const {
  return config_.warmup_steps > 0 ? config_.lr * (1 - config_.warmup_start) / static_cast<double>(config_.warmup_steps) : 0;
}

double Schedule::lr(std::int64_t iteration) const {
  double lr = config_.lr;
  if (iteration < config_.warmup_steps) {
    const double done = static_cast<double>(iteration) / static_cast<double>(config_.warmup_steps);
    lr *= config_.warmup_start + (1 - config_.warmup_start) * done;
  }
  const auto decays = std::count_if(decay_steps_.begin(), decay_steps_.end(), [&](std::int64_t s) { return iteration > s; });
  return lr * std::pow(config_.decay_factor, static_cast<double>(decays));
}

}  // namespace ttt::train
