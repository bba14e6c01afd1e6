// Up from 0 in the whole run, in a straight line.
#include "train/schedules/schedule.h"

namespace ttt::train {
namespace {

class Ramp final : public Schedule {
 public:
  using Schedule::Schedule;

 private:
  double decay(std::int64_t iteration) const override { return share_done(iteration); }
};

}  // namespace

std::unique_ptr<Schedule> make_ramp(const ScheduleConfig& config, const ScheduleInputs& inputs) {
  return std::make_unique<Ramp>(config, inputs);
}

}  // namespace ttt::train
