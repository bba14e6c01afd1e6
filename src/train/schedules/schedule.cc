#include "train/schedules/schedule.h"

#include <algorithm>

#include "core/error.h"

namespace ttt::train {

void check(const ScheduleConfig& config) {
  if (!config.decay_steps.empty() && !config.decay_epochs.empty())
    throw UsageError("train.schedule.decay_steps and train.schedule.decay_epochs are both set: keep one of them.");
  if (!std::is_sorted(config.decay_steps.begin(), config.decay_steps.end()) ||
      !std::is_sorted(config.decay_epochs.begin(), config.decay_epochs.end()))
    throw UsageError("train.schedule.decay_steps and train.schedule.decay_epochs must ascend: put them in order.");
}

std::unique_ptr<Schedule> make_schedule(const ScheduleConfig& config, const ScheduleInputs& inputs) {
#define TTT_MAKE(name, doc) \
  if (config.kind == #name) return make_##name(config, inputs);
  TTT_SCHEDULES(TTT_MAKE)
#undef TTT_MAKE
  throw UsageError("train.schedule.kind = \"" + config.kind + "\": there is no such schedule.");
}

}  // namespace ttt::train
