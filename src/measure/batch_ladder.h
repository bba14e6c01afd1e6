// Epochs to the target at each batch, at the best learning rate of each.
#pragma once

#include "measure/ablation.h"
#include "measure/runner.h"
#include "result/batch_ladder.h"

namespace ttt::ablations {

// One variant of the ablation, at its batches. Trials have the recipe's seed and those after it, repeats the next ones.
// A rung's first trials are at the rate of the rung before and at twice that. A training is evaluated at every tenth of
// the expected epochs. It ends at the target, or after result::kReachingWithin times the best trials' epochs.
// `listener` is told the ladder after each training. Collective. Throws Interrupted after a signal.
//   side_by_side: each training on one rank, as many at a time as there are ranks
//   ladder: empty, or what an earlier run made of it; its batches are climbed too
void climb(const Ablation& ablation, const Variant& variant, const train::Recipe& recipe, bool side_by_side,
    const comm::World& world, const harness::RunContext& context, const Listener& listener,
    result::BatchLadder& ladder);

// What the result `file` has of this variant's ladder; an empty ladder where it has none, and for no file. Throws
// UsageError where a setting that both know has another value there.
result::BatchLadder earlier_ladder(
    const std::string& file, const Ablation& ablation, const Variant& variant, const train::Recipe& recipe);

}  // namespace ttt::ablations
