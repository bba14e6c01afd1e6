// Times two variants in turns on the same work, until the difference is known well enough.
//
// A round is four blocks, A B B A, and every second round B A A B: each side runs a block first once and second once on the same steps, so a
// machine that drifts costs both alike, and what is done between rounds comes before either. Samples of one step on both sides are a pair.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "result/comparison.h"

namespace ttt::harness {

// One side. Both sides of a comparison run the same work in the same order.
class Arm {
 public:
  virtual ~Arm() = default;
  // Runs the next `steps` steps and returns the seconds of each, all positive. Under several ranks: collective, and the same numbers on every
  // rank, because the ranks decide by them when to stop.
  virtual std::vector<double> block(int steps) = 0;
};

struct PairedSettings {
  int block_steps = 2;
  int settle_steps = 0;       // first steps of a block that are run and not counted
  double half_width = 0.005;  // enough: the 95 % interval of the relative effect reaches so far to either side
  double limit_s = 45;        // sum of the blocks' times, warm-up included; min_rounds are run in any case
  std::int64_t min_rounds = 8, max_rounds = 400;
  std::int64_t max_warmup_rounds = 20;
};

// Runs rounds that do not count until one is not faster than the one before by more than 3 %, then rounds that do. `measuring` is called
// between the two; `interrupted` is asked after each round, alike on all ranks, and ends the measurement where it is true.
result::PairedSamples measure_pairs(Arm& baseline, Arm& variant, const PairedSettings& settings, const std::function<void()>& measuring = {},
                                    const std::function<bool()>& interrupted = {});

}  // namespace ttt::harness
