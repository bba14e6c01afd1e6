// After which steps a training is evaluated.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "core/epochs.h"
#include "result/run_record.h"
#include "train/config.h"

namespace ttt::train {

// Rarely far from the target, and often near it, where evaluations tell when it was met (result/crossing.h).
struct EvaluationPlan {
  double every = 1, every_near = 0;  // epochs; every_near 0: as often as elsewhere
  double near = 1;                   // share of each of the target's values from which on it is near
  std::int64_t from = 0;             // steps, before which there is none
  std::int64_t end = 0;              // step, after which there is one in any case
  Epochs epochs;

  static EvaluationPlan of(const TrainConfig& c, const Epochs& epochs) {
    return {.every = c.eval_every_epochs,
        .every_near = c.eval_near_every_epochs,
        .near = c.eval_near,
        .from = epochs.steps(c.eval_from_epochs),
        .end = planned_steps(c, epochs),
        .epochs = epochs};
  }

  // `last`: the last evaluation whose numbers are known.
  bool due(std::int64_t step, const std::optional<result::Evaluation>& last, const result::Metrics& target) const {
    if (step == end) return true;
    if (step < from) return false;
    return epochs.is_multiple(step, every) ||
           (every_near > 0 && epochs.is_multiple(step, every_near) && last && is_near(last->metrics, target));
  }

 private:
  bool is_near(const result::Metrics& metrics, result::Metrics target) const {
    for (result::Metric& bound : target) bound.value *= near;
    return result::reached(metrics, target);
  }
};

}  // namespace ttt::train
