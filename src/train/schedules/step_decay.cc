// A rate that falls in steps.
#include <algorithm>
#include <cmath>

#include "train/schedules/schedule.h"

namespace ttt::train {
namespace {

// Iteration i is decayed as often as there are decay steps <= i: the reference's bisect_right over its scheduler's
// counter, which is 1 in the first iteration. After an epoch means: from the next one's first iteration on.
class StepDecay final : public Schedule {
 public:
  StepDecay(const ScheduleConfig& config, const ScheduleInputs& inputs)
      : Schedule(config, inputs), decay_steps_(config.decay_steps) {
    for (double epoch : config.decay_epochs) decay_steps_.push_back(inputs.epochs.steps(epoch) + 1);
  }
  std::vector<std::int64_t> decay_steps() const override { return decay_steps_; }

 private:
  double decay(std::int64_t iteration) const override {
    const auto decays =
        std::count_if(decay_steps_.begin(), decay_steps_.end(), [&](std::int64_t s) { return iteration >= s; });
    return std::max(config().final_fraction, std::pow(config().decay_factor, static_cast<double>(decays)));
  }

  result::Json details() const override { return {{"decay_steps", decay_steps_}}; }

  std::vector<std::int64_t> decay_steps_;
};

}  // namespace

std::unique_ptr<Schedule> make_step_decay(const ScheduleConfig& config, const ScheduleInputs& inputs) {
  return std::make_unique<StepDecay>(config, inputs);
}

}  // namespace ttt::train
