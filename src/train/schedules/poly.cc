// You et al. 2017, "Large Batch Training of Convolutional Networks": (1 - share done)^power.
#include <cmath>

#include "train/schedules/schedule.h"

namespace ttt::train {
namespace {

class Poly final : public Schedule {
 public:
  using Schedule::Schedule;

 private:
  double decay(std::int64_t iteration) const override {
    return down_to_final(std::pow(1 - share_done(iteration), config().power));
  }
  result::Json details() const override { return {{"power", config().power}}; }
};

}  // namespace

std::unique_ptr<Schedule> make_poly(const ScheduleConfig& config, const ScheduleInputs& inputs) {
  return std::make_unique<Poly>(config, inputs);
}

}  // namespace ttt::train
