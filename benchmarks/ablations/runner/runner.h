// Runs ablations: shows that what was built differs, compares the numbers, and only then takes times.
#pragma once

#include "ablations/runner/ablation.h"
#include "harness/app.h"

namespace ttt::ablations {

struct RunnerConfig {
  std::string names;
  double half_width = 0.005;
  double limit_s = 45;
  std::int64_t min_rounds = 8, max_rounds = 400;
  std::int64_t gate_steps = 3;
  std::int64_t repetitions = 0;

  template <class Self, class V>
  static void fields(Self& s, V&& v) {
    v("names", s.names, "which ablations, separated by commas; all: every one of --list but those that test the measuring");
    v("half_width", s.half_width, "enough is measured when the 95 % interval of the relative effect reaches so far to either side", between(1e-5, 1));
    v("limit_s", s.limit_s, "seconds after which a comparison ends, precise or not", at_least(0.1));
    v("min_rounds", s.min_rounds, "rounds (A B B A) at least; six is the fewest that give an interval", at_least(6));
    v("max_rounds", s.max_rounds, "rounds at most", at_least(6));
    v("gate_steps", s.gate_steps, "steps whose losses are compared before any time is taken", at_least(1));
    v("repetitions", s.repetitions, "of the whole measurement; 0: as the ablation says (1, but for those that test the measuring)", at_least(0));
  }
};

// A training recipe, and how to compare.
struct AblateRecipe : train::Recipe {
  RunnerConfig ablate;

  template <class Self, class V>
  static void fields(Self& s, V&& v) {
    train::Recipe::fields(s, v);
    v("ablate", s.ablate, "what is compared, and how long");
  }
};

// The ablations of RunnerConfig::names. Throws UsageError naming an unknown one and the nearest known.
std::vector<Ablation> chosen(const RunnerConfig& config);

// Who is told, as it happens.
struct Listener {
  std::function<void(const std::string& line)> say;           // for people
  std::function<void(const result::Comparison& row)> row;     // for the result: what was measured before an interruption stays
};

// Collective. One row for each variant but the baseline, and for each repetition. Throws Interrupted after a signal.
std::vector<result::Comparison> run_ablation(const Ablation& ablation, const AblateRecipe& recipe, const comm::World& world,
                                             const harness::RunContext& context, const Listener& listener);

// "step time -12.30 % (95 %: -12.90 to -11.80), 160 pairs, stopped: precise"
std::string effect_text(const result::Comparison& comparison);

}  // namespace ttt::ablations
