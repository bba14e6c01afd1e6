// One ablation: a question, what changes, what should happen and what the numbers promise. Each is one file in the folder above.
//
// To add one: write <name>.cc with `Ablation ablate_<name>()`; the build finds it, lists it and makes the program ablate_<name>.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "measure/arm.h"
#include "run/assemble.h"

namespace ttt::ablations {

// What the change promises of the losses. bitwise: scheduling only, every bit the same. close: sums in another order, within rtol.
// other_work: another computation or other data; nothing is promised of single steps, only of convergence.
enum class Promise { kBitwise, kClose, kOtherWork };
const char* promise_name(Promise promise);

// Where a side is built.
struct Bench {
  const train::Recipe& recipe;  // before the variant's change
  const comm::World& world;
  const harness::RunContext& context;
};

// One side of a comparison.
struct Variant {
  std::string name;
  std::function<void(train::Recipe&)> change;
  // Replaces slots by what src/ does not have: the slow or historical alternative, kept in the ablation's file.
  std::function<void(Components&)> components;
  // Called before each turn: settings of the process that the other side wants otherwise.
  std::function<void()> enter;
  // Another side than a training step (operation_arm.h). `change` is applied to the bench's recipe before.
  std::function<std::unique_ptr<Arm>(const Bench&)> arm;
  int block_steps = 0;  // of a turn, where this one needs more than the ablation's
  double planted = 0;  // waits this fraction of each step longer: a cost that is known, to see whether it is found
};

// Both sides of all of an ablation's comparisons once more under this change: a number of images, a width.
struct Setting {
  std::string name;
  std::function<void(train::Recipe&)> change;
  std::function<std::unique_ptr<Arm>(const Bench&)> arm = {};  // what both sides run under it, instead of what the variants say; their `change`s are applied
};

// Where an ablation is asked to run.
struct Place {
  int ranks = 1;
  int cores = 1;          // that a process may use, the least over ranks
  int nodes = 1;
  std::string device = "cpu";
};

// Time to target: each variant is trained from several seeds, and the distributions of epochs are compared.
struct Convergence {
  std::int64_t seeds = 0;  // trainings of each variant; 0: this is a comparison of steps
  std::function<void(train::Recipe&)> change;  // for both sides: target, epochs, how often is evaluated
};

struct Ablation {
  std::string name, question, expectation;
  Promise promise = Promise::kBitwise;
  double rtol = 0;                 // of kClose: largest relative difference of a loss in the gate's steps, with its reason in the file
  std::vector<Variant> variants;   // the first is the baseline that the others are compared with
  std::vector<Setting> settings;   // empty: the recipe as it is
  Convergence convergence;
  // Of the ablations that test the measuring itself: the whole measurement so many times, with both sides built alike, and with another process
  // that loads the machine for part of the time.
  int repetitions = 1;
  bool built_alike = false, under_load = false;
  double half_width = harness::PairedSettings().half_width, limit_s = harness::PairedSettings().limit_s;  // how precise is enough, and how long it may take
  int block_steps = 0;             // steps that one side runs before the other's turn; 0: as the harness finds best (PairedSettings)
  int settle_steps = 0;            // of a block's first steps, so many are not counted: queues that filled during the other's turn
  // Why it cannot run here, or "". The row then says so.
  std::function<std::string(const Place&)> unsupported = [](const Place&) { return std::string(); };
};

// Reasons for `unsupported`.
std::string needs_ranks(const Place& place);                           // one rank has nobody to talk to
std::string needs_cuda(const Place& place, const std::string& what);   // `what` exists on CUDA devices only

// Makes steps of about fifteen milliseconds on one thread, so that many whole measurements take minutes.
void make_steps_small(train::Recipe& recipe);

// All ablations, by name. Generated from the files of this folder.
std::vector<Ablation> all_ablations();

}  // namespace ttt::ablations
