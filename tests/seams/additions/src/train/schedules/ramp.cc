// From lr down to 0 at the end of the run, in a straight line.
#include "train/schedules/schedule.h"

namespace ttt::train {
namespace {

class Ramp final : public Schedule {
 public:
  Ramp(double lr, std::int64_t steps) : lr_(lr), steps_(steps) {}
  double lr(std::int64_t iteration) const override {
    return lr_ * (1 - static_cast<double>(iteration - 1) / static_cast<double>(steps_));
  }
  result::Json describe() const override { return {{"kind", "ramp"}, {"steps", steps_}}; }

 private:
  double lr_;
  std::int64_t steps_;
};

}  // namespace

std::unique_ptr<Schedule> make_ramp(const ScheduleConfig& config, const ScheduleInputs& inputs) {
  return std::make_unique<Ramp>(config.lr, inputs.total_steps);
}

}  // namespace ttt::train
