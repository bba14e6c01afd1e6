// From the base rate to final_fraction of it in a straight line.
#include "train/schedules/schedule.h"

namespace ttt::train {
namespace {

class Linear final : public Schedule {
 public:
  using Schedule::Schedule;

 private:
  double decay(std::int64_t iteration) const override { return down_to_final(1 - share_done(iteration)); }
};

}  // namespace

std::unique_ptr<Schedule> make_linear(const ScheduleConfig& config, const ScheduleInputs& inputs) {
  return std::make_unique<Linear>(config, inputs);
}

}  // namespace ttt::train
