// Loshchilov and Hutter 2017, "SGDR", equation 5, without restarts.
#include <cmath>
#include <numbers>

#include "train/schedules/schedule.h"

namespace ttt::train {
namespace {

class Cosine final : public Schedule {
 public:
  using Schedule::Schedule;

 private:
  double decay(std::int64_t iteration) const override {
    return down_to_final((1 + std::cos(std::numbers::pi * share_done(iteration))) / 2);
  }
};

}  // namespace

std::unique_ptr<Schedule> make_cosine(const ScheduleConfig& config, const ScheduleInputs& inputs) {
  return std::make_unique<Cosine>(config, inputs);
}

}  // namespace ttt::train
