// Two variants against each other: what was built, the gate, the times, the causes.
#pragma once

#include "measure/design.h"
#include "measure/paired.h"
#include "result/comparison.h"

namespace ttt::ablations {

// How long, and what is looked at before and after.
struct PairLimits {
  harness::PairedSettings timing;
  int gate_steps = 3, observed_steps = 2;
};

// Collective. `told`: after each build.
result::Comparison run_pair(
    const Pairing& pairing, const train::Recipe& recipe, const PairLimits& limits, const comm::World& world,
    const harness::RunContext& context,
    const std::function<void(const harness::Sofar&)>& told = [](const harness::Sofar&) {});
// The row of a pairing that was not measured, without status and reason.
result::Comparison empty_row(const Pairing& pairing);
// Fills in the numbers that a recipe leaves to the launch. A batch that the ranks cannot share stays: the sides that
// use it refuse it.
void resolve(train::Recipe& recipe, const comm::World& world);

}  // namespace ttt::ablations
