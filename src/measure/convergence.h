// The effect of a technique on convergence: several trainings of each variant from the same seeds.
#pragma once

#include "measure/ablation.h"
#include "result/comparison.h"

namespace ttt::ablations {

// How a measurement ends after a signal.
inline constexpr const char* kInterruptedSentence = "Interrupted. What was measured until then is in the result.";

// From the recipe's seed on, so many; every variant with each, in turns, so that a machine that drifts costs all alike.
// Each training ends at the target of the ablation's recipe or at its last epoch. Collective. Throws Interrupted after
// a signal: what was trained until then is in `row`.
void train_to_target(const Ablation& ablation, const train::Recipe& recipe, const comm::World& world,
    const harness::RunContext& context, const std::function<void(const std::string&)>& say,
    result::ConvergenceRow& row);

}  // namespace ttt::ablations
