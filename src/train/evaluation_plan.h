// After which steps a training is evaluated.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "result/run_record.h"
#include "train/config.h"

namespace ttt::train {

// Rarely far from the target, and often near it, where evaluations tell when it was met (result/crossing.h).
struct EvaluationPlan {
  std::int64_t every = 1, every_near = 0;  // steps; every_near 0: as often as elsewhere
  double near = 1;                         // share of each of the target's values from which on it is near
  std::int64_t from = 0;                   // steps, before which there is none
  std::int64_t end = 0;                    // step, after which there is one in any case

  // `steps_per_epoch` > 0; an interval is at least a step.
  static EvaluationPlan of(const TrainConfig& c, std::int64_t steps_per_epoch) {
    const auto interval = [&](double epochs) { return std::max<std::int64_t>(1, steps_of(epochs, steps_per_epoch)); };
    return {.every = interval(c.eval_every_epochs),
        .every_near = c.eval_near_every_epochs > 0 ? interval(c.eval_near_every_epochs) : 0,
        .near = c.eval_near,
        .from = steps_of(c.eval_from_epochs, steps_per_epoch),
        .end = planned_steps(c, steps_per_epoch)};
  }

  // `last`: the last evaluation whose numbers are known.
  bool due(std::int64_t step, const std::optional<result::Evaluation>& last, const result::Metrics& target) const {
    if (step == end) return true;
    if (step < from) return false;
    return step % every == 0 || (every_near > 0 && step % every_near == 0 && last && is_near(last->metrics, target));
  }

 private:
  bool is_near(const result::Metrics& metrics, result::Metrics target) const {
    for (result::Metric& bound : target) bound.value *= near;
    return result::reached(metrics, target);
  }
};

}  // namespace ttt::train
