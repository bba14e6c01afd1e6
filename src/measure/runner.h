// Runs ablations: shows that what was built differs, compares the numbers, and only then takes times.
#pragma once

#include "app/app.h"
#include "measure/design.h"

namespace ttt::ablations {

struct RunnerConfig {
  std::string names;
  std::string design = "one_off";
  double half_width = 0, limit_s = 0, budget_s = 0;
  std::int64_t builds = 8, min_rounds = 1, max_rounds = 400;
  std::int64_t gate_steps = 3;
  std::int64_t observed_steps = 2;
  std::int64_t repetitions = 0;
  std::int64_t seeds = 0;
  std::vector<std::int64_t> batches;
  std::string continues;
  double steps_half_width = 0;
  std::string trainings = "side_by_side";
  bool averaged_weights = true;
  double peaks_s = 0.5;

  template <class Self, class V> static void fields(Self& s, V&& v) {
    v("names", s.names,
        "which ablations, separated by commas; NAME=VARIANT: of that one, this variant alone; all: every one of --list "
        "that compares steps, but those that test the measuring; trainings: every one that compares convergence");
    v("design", s.design,
        "one_off: each variant against its baseline; leave_one_out: all on against all but one; ladder: one after the "
        "other is added; factorial: every combination against none; null: each baseline against itself. Each under "
        "every setting that --list names for it; of a combination, only one ablation may have some",
        one_of({"one_off", "leave_one_out", "ladder", "factorial", "null"}));
    v("half_width", s.half_width,
        "enough is measured when the 95 % interval of the relative effect reaches so far to either side; 0: as the "
        "ablation says, 0.005 where it says nothing",
        between(0, 1));
    v("limit_s", s.limit_s,
        "seconds after which a comparison ends, precise or not; building both sides is part of them; 0: as the "
        "ablation says, 45 where it says nothing",
        between(0, 1e9));
    v("budget_s", s.budget_s,
        "seconds for all: what is left of them is shared by the comparisons that are left, where that is less than "
        "limit_s; so many builds of so many rounds as are the least are run in any case; 0: 1200, or what those may "
        "take together that test the measuring, where that is more",
        between(0, 1e9));
    v("builds", s.builds,
        "how often both sides are made anew, at least, a multiple of four from eight on; where their memory happens to "
        "lie is worth some tenths of a per cent, which an interval over builds contains. 1: a quick look at a single "
        "build, whose interval leaves that out",
        between(1, 1e4));
    v("min_rounds", s.min_rounds, "rounds (A B B A) of a build at least", between(1, 1e6));
    v("max_rounds", s.max_rounds, "rounds at most, once there is an interval", between(6, 1e6));
    v("gate_steps", s.gate_steps,
        "steps whose losses are compared before any time is taken, of the first build; of each other one",
        between(1, 1e6));
    v("observed_steps", s.observed_steps,
        "steps after the measurement in which operators are counted; they are not timed", between(1, 1e6));
    v("repetitions", s.repetitions, "of the whole measurement; 0: as the ablation says", between(0, 1e4));
    v("seeds", s.seeds,
        "trainings of each variant where convergence is compared, at most; repeats of each batch of a ladder; 0: as "
        "the ablation says",
        between(0, 1e4));
    v("batches", s.batches, "of a ladder of batches: images of a step, ascending; empty: as the ablation says",
        between(1, 1e6));
    v("continues", s.continues,
        "result of this ladder of batches, interrupted or of other batches, whose trainings count as made; empty: "
        "none");
    v("steps_half_width", s.steps_half_width,
        "enough is trained when the 95 % interval of the steps to equal accuracy reaches so far to either side; 0: all "
        "seeds",
        between(0, 1));
    v("trainings", s.trainings,
        "side_by_side: each training on one rank with the whole global batch, as many at a time as there are ranks; "
        "together: each on all ranks",
        one_of({"side_by_side", "together"}));
    v("averaged_weights", s.averaged_weights,
        "where convergence is compared: evaluate averages over about the last tenth of the updates, without the noise "
        "of the newest ones");
    v("peaks_s", s.peaks_s,
        "seconds for each of the machine's peaks, beside which a step's rates are read, before anything else; 0: not "
        "measured",
        between(0, 3600));
  }
};

// A training recipe, and how to compare.
struct AblateRecipe : train::Recipe {
  using train::Recipe::Recipe;
  RunnerConfig ablate;

  template <class Self, class V> static void fields(Self& s, V&& v) {
    train::Recipe::fields(s, v);
    v("ablate", s.ablate, "what is compared, and how long");
  }
};

// The ablations of RunnerConfig::names; one of which a variant is named has its baseline and that one left. Throws
// UsageError naming an unknown one and the nearest known.
std::vector<Ablation> chosen(const RunnerConfig& config);

// Seconds of one comparison, and of all together.
double limit_s(const Pairing& pairing, const RunnerConfig& config);
double budget_s(const std::vector<Pairing>& pairings, const RunnerConfig& config);

// The work ahead.
struct Plan {
  std::vector<Pairing> pairings;
  std::vector<Ablation> trainings;  // of which convergence is compared
  std::vector<Ablation> batch_ladders;
  double budget_s = 0;  // for all pairings
  std::string text;     // for people: how much, and about how long
};
// "4 comparisons of 2 ablations, at most 3 min ...", and what stands beside these minutes.
std::string plan_text(const Plan& plan, std::size_t ablations, const AblateRecipe& recipe);
Plan make_plan(const std::vector<Ablation>& ablations, const AblateRecipe& recipe, const comm::World& world);

// Who is told, as it happens.
struct Listener {
  std::function<void(const std::string& line)> say;  // for people
  std::function<void(const std::string& line)> now;  // how far it is; empty on ranks that print nothing
  // for the result: what was measured before an interruption stays
  std::function<void(const result::Comparison& row)> row;
  std::function<void(const result::ConvergenceRow& row)> converged;
  std::function<void(const result::BatchLadder& ladder)> climbed;  // again after each training
};

// Collective. Throws Interrupted after a signal.
void run_plan(const Plan& plan, const AblateRecipe& recipe, const comm::World& world,
    const harness::RunContext& context, const Listener& listener);

// "-12.30 % (95 %: -12.90 to -11.80), 10 builds"
std::string effect_text(const result::Comparison& comparison);

}  // namespace ttt::ablations
