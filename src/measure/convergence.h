// The effect of a technique on convergence: several trainings of each variant from the same seeds.
#pragma once

#include "measure/ablation.h"
#include "result/comparison.h"

namespace ttt::ablations {

struct TrainingLimits {
  std::int64_t seeds = 12;    // trainings of each variant at most
  double half_width = 0;      // enough: the interval of the steps reaches so far to either side; 0: all seeds
  bool side_by_side = false;  // each training on one rank, as many at a time as there are ranks
  bool averaged = true;       // averages of the weights are evaluated (averaged_weights.h)
};

// From the recipe's seed on. Every training of a seed has the same data order and initial weights. All last the
// recipe's train.epochs, whatever they reach, and are evaluated in the last part of them (Convergence::evaluated_from),
// or are several that end at different epochs (Convergence::ends).
// Each on all ranks, or each on one rank with the whole global batch. Collective. Throws Interrupted after a signal:
// what was trained until then is in `row`.
void compare_trainings(const Ablation& ablation, const train::Recipe& recipe, const TrainingLimits& limits,
    const comm::World& world, const harness::RunContext& context, const std::function<void(const std::string&)>& say,
    result::ConvergenceRow& row);

inline constexpr std::int64_t kFirstLook = 6;  // seeds, after which the precision is looked at first

}  // namespace ttt::ablations
