#include "train/schedules/schedule.h"

#include "core/error.h"

namespace ttt::train {

std::unique_ptr<Schedule> make_schedule(const ScheduleConfig& config, const ScheduleInputs& inputs) {
#define TTT_MAKE(name) \
  if (config.kind == #name) return make_##name(config, inputs);
  TTT_SCHEDULES(TTT_MAKE)
#undef TTT_MAKE
  throw UsageError("train.schedule.kind = \"" + config.kind + "\": there is no such schedule.");
}

}  // namespace ttt::train
