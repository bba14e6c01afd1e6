// Two variants against each other: what was built, the gate, the times, the causes.
#pragma once

#include "ablations/runner/design.h"
#include "result/comparison.h"

namespace ttt::ablations {

struct PairLimits {
  double half_width = 0.005, limit_s = 45;
  std::int64_t min_rounds = 8, max_rounds = 400;
  int gate_steps = 3, observed_steps = 2;
};

// Collective.
result::Comparison run_pair(const Pairing& pairing, const train::Recipe& recipe, const PairLimits& limits, const comm::World& world,
                            const harness::RunContext& context);
// The row of a pairing that was not measured, without status and reason.
result::Comparison empty_row(const Pairing& pairing);

}  // namespace ttt::ablations
