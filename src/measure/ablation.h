// One ablation: a question, the change, the expected outcome and what the numbers promise.
//
// To add one, write benchmarks/ablations/<kind>/<name>.cc with `Ablation ablate_<name>()`.
// The build lists it and makes the program ablate_<name>.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "measure/arm.h"
#include "run/assemble.h"

namespace ttt::ablations {

// The promise of a change for the losses.
// bitwise: only scheduling changes, so every bit is the same. close: sums are taken in another order, within rtol.
// other_work: another computation or other data, with no promise for single steps.
enum class Promise { kBitwise, kClose, kOtherWork };
const char* promise_name(Promise promise);

// The recipe, ranks and context that a side is built with.
struct Bench {
  const train::Recipe& recipe;  // before the variant's change
  const comm::World& world;
  const harness::RunContext& context;
};

// One side of a comparison.
struct Variant {
  std::string name;
  std::function<void(train::Recipe&)> change;
  // Replaces components by an alternative that src/ does not have, kept in the ablation's file.
  std::function<void(Components&)> components;
  // Called before each turn: sets what is global to the process and differs between the sides.
  std::function<void()> enter;
  // Makes a side that is no training step (operation_arm.h). `change` is applied to the recipe first.
  std::function<std::unique_ptr<Arm>(const Bench&)> arm;
  int block_steps = 0;                    // steps of a turn, where this side needs more than the ablation says
  std::vector<std::string> factors = {};  // of a combination of ablations: those that are on
  double planted = 0;  // adds this fraction of each step as a wait: a known cost for self_test/planted.cc
};

// A change for both sides, under which every comparison is repeated: a number of images, a width.
struct Setting {
  std::string name;
  std::function<void(train::Recipe&)> change;
  // Makes both sides instead of the variants' own `arm`. The variants' changes are applied.
  std::function<std::unique_ptr<Arm>(const Bench&)> arm = {};
};

// What an ablation would run with. All that `unsupported` may ask: the page of a technique is written on any machine.
struct Capabilities {
  int ranks = 1;
  int cores = 1;  // that a process may use, the least over ranks
  int nodes = 1;
  std::string device = "cpu";
  bool bfloat16 = true;           // the processor has instructions for it
  bool malloc_can_be_set = true;  // core/allocator.h
};

// Each variant is trained from several seeds for the recipe's epochs, and the accuracies are compared.
struct Convergence {
  std::int64_t seeds = 0;                      // trainings of each variant; 0: this is a comparison of steps
  std::function<void(train::Recipe&)> change;  // for both sides
  // Share of the epochs after which trainings are evaluated. Nearer to the end there are fewer evaluations to average
  // over; further from it, progress bends more.
  double evaluated_from = 0.6;
  // Not empty: shares of the recipe's epochs. Each training becomes one for each, which ends there and is evaluated at
  // its end alone, by its newest weights. For what depends on where a training ends: a schedule's last steps are worth
  // more than those before, and averages of the weights would do what a low rate does.
  std::vector<double> ends = {};
};
inline const std::vector<double> kSeveralEnds = {0.6, 0.8, 1};  // as far from each other as evaluations without ends

// Each variant, an optimizer, is trained at every batch: its learning rate is searched, then it is repeated from other
// seeds at the best rate.
struct BatchLadderPlan {
  std::vector<std::int64_t> batches;           // global, ascending; empty: this is no ladder
  std::int64_t seeds = 5;                      // repeats of each rung
  std::int64_t trial_seeds = 2;                // of each rate that is tried: by one alone it might be at the edge
  std::function<void(train::Recipe&)> change;  // for all trainings
  double warmup_images = 0;                    // the warm-up's length
  std::int64_t part_images = 8;                // go through the model at a time at most (train.accumulate)
  double epochs = 1;                           // to the target at the first batch, about
};

struct Ablation {
  std::string name, question;
  std::string claim = {}, source = {};  // the published claim under test and who made it; "none known" has no source
  std::string expectation;
  Promise promise = Promise::kBitwise;
  double rtol = 0;                // of kClose: largest relative difference of a loss; the file gives the reason
  std::vector<Variant> variants;  // the first is the baseline that the others are compared with
  std::vector<Setting> settings;  // empty: the recipe as it is
  Convergence convergence;
  BatchLadderPlan batch_ladder;
  // For ablations that test the measuring: repeat the measurement, build both sides alike, and load the machine with
  // another process for part of the time.
  int repetitions = 1;
  bool built_alike = false, under_load = false;
  double half_width = harness::PairedSettings().half_width;  // precise enough: half the interval's width
  double limit_s = harness::PairedSettings().limit_s;        // time limit of a comparison
  int block_steps = 0;                                       // steps of one side's turn; 0: PairedSettings decides
  int settle_steps = 0;   // uncounted first steps of a turn: queues filled during the other side's turn
  std::string file = {};  // below benchmarks/ablations; filled in by all_ablations()
  // The reason why it cannot run here, or "". The row states it.
  std::function<std::string(const Capabilities&)> unsupported = [](const Capabilities&) { return std::string(); };

  bool trains() const { return convergence.seeds > 0 || is_batch_ladder(); }  // whole trainings, not steps
  bool is_batch_ladder() const { return !batch_ladder.batches.empty(); }
  bool is_self_test() const { return file.starts_with("self_test/"); }  // of the measuring
};

// Reasons for `unsupported`.
std::string needs_ranks(const Capabilities& here);  // one rank does not communicate
std::string needs_cuda(const Capabilities& here);

// Makes a step take about 15 ms on one thread, so that many measurements take minutes.
void make_steps_small(train::Recipe& recipe);

// All ablations. Generated from the files below benchmarks/ablations.
std::vector<Ablation> all_ablations();

}  // namespace ttt::ablations
