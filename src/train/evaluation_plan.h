// After which steps a training is evaluated.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include "result/run_record.h"

namespace ttt::train {

// Rarely far from the target, and often near it, where evaluations tell when it was met (result/crossing.h).
struct EvaluationPlan {
  std::int64_t every = 1, every_near = 0;  // steps; every_near 0: as often as elsewhere
  double near = 1;                         // share of each of the target's values from which on it is near

  // `steps_per_epoch` > 0; an interval is at least a step.
  static EvaluationPlan of(double every_epochs, double near_every_epochs, double near, std::int64_t steps_per_epoch) {
    const auto steps = [&](double epochs) {
      return std::max<std::int64_t>(1, std::llround(epochs * static_cast<double>(steps_per_epoch)));
    };
    return {steps(every_epochs), near_every_epochs > 0 ? steps(near_every_epochs) : 0, near};
  }

  // `last`: the last evaluation whose numbers are known.
  bool due(std::int64_t step, const std::optional<result::Evaluation>& last, const result::Metrics& target) const {
    return step % every == 0 || (every_near > 0 && step % every_near == 0 && last && is_near(last->metrics, target));
  }

 private:
  bool is_near(const result::Metrics& metrics, result::Metrics target) const {
    for (result::Metric& bound : target) bound.value *= near;
    return result::reached(metrics, target);
  }
};

}  // namespace ttt::train
