// Two variants of one program, timed in turns on the same batches.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/statistics.h"
#include "result/metrics.h"
#include "settings/json.h"

namespace ttt::result {

// Seconds of a step in one phase, a number for each round: the mean over its steps that count, and over ranks.
struct PhaseSamples {
  std::vector<double> baseline_s, variant_s;
};

// Each entry is one step that both sides ran on the same batch. Times in seconds: between the moments at which the last
// rank had finished the step before and this one. `build` says which making of both sides they are of, and `step`
// counts that build's steps, those that do not count included.
struct PairedSamples {
  std::vector<std::int64_t> build, round, step;
  std::vector<std::int64_t> variant_first;  // 1 where the variant had its turn before the baseline
  std::vector<double> baseline_s, variant_s;
  std::int64_t warmup_turns = 0;  // blocks of either side before rounds counted, over all builds
  std::string stopped;            // "precise", "time", "rounds" or "interrupted": what ended the measurement
  // Confidence of the final interval. It exceeds 95 % where a sequential measurement looked at its precision before,
  // so that coverage is 95 % over all looks. Earlier versions did not correct for looks.
  double confidence = 0.95;
  // by name; none where a side has none, and of earlier versions of the program
  std::map<std::string, PhaseSamples> phases;

  std::size_t size() const { return step.size(); }
  std::size_t builds() const;
  std::size_t rounds() const;
};

// One number for each round, build by build: the mean of log(variant / baseline) over its steps. A round has both
// orders, so drift of the machine cancels.
std::vector<std::vector<double>> round_effects(const PairedSamples& samples);

// The relative change of the step's time, variant / baseline - 1, with its interval over builds (samples.confidence),
// each of which is the Hodges-Lehmann estimate of its rounds. Nothing from two to five builds. Of one build, an
// interval over its rounds, from six rounds on. It says how well the difference of these two is known, and leaves out
// by how much another build of them would differ.
std::optional<Interval> effect(const PairedSamples& samples);

// The change of each phase, variant - baseline in seconds of a step, by the same estimator as the effect. Of a round
// the difference of its means, of a build the Hodges-Lehmann estimate of its rounds, over builds estimate and interval.
// Empty where phases were not sampled, or `effect` is nothing.
std::map<std::string, Interval> phase_changes(const PairedSamples& samples);
// The same of the whole step.
std::optional<Interval> step_change(const PairedSamples& samples);

// One row of an ablation.
struct Comparison {
  std::string ablation, question, expectation, baseline, variant;
  // under which both sides ran: "4 images a rank"; empty: the recipe as it is
  std::string setting;
  std::string design = "one_off";    // one_off, leave_one_out, ladder, factorial, null
  std::vector<std::string> factors;  // of a combination: what is on in the variant
  std::int64_t repetition = 0;
  // measured, or why not: not_supported here. same_build: both sides are built alike. promise_broken: the numbers
  // differ more than promised. incorrect: a loss is not finite.
  std::string status = "measured";
  std::string reason;                                      // of a status other than measured
  std::string promise;                                     // bitwise, close, other_work
  double promised_difference = 0, largest_difference = 0;  // relative, of a loss, over gate_steps; promised: of close
  std::int64_t gate_steps = 0;
  Json built = Json::object();  // what differs: {"reducer": [baseline, variant]}
  // Mean seconds of a step by phase: over the rounds of samples.phases. Of earlier versions, without these, settling
  // steps included.
  Json phases = Json::object();  // {"forward": [baseline, variant]}
  // Means over a step, sums over ranks: {"page_faults": [baseline, variant]}. Absent: not counted. Operators: of the
  // last build.
  Json counters = Json::object();
  PairedSamples samples;
};

// One training of one variant to a target.
struct Training {
  std::string variant;
  std::int64_t seed = 0;
  bool reached = false;
  // to the reaching evaluation, else of the whole run; resolved to the interval of evaluations
  double epochs = 0;
  double seconds = 0;  // by the clock, from the first step to the same moment, evaluation included
  Metrics metrics;     // of that evaluation, those of the target
};

// Trainings of several variants from the same seeds: what a technique does to convergence.
struct ConvergenceRow {
  std::string ablation, question, expectation, baseline;
  Metrics target;
  double eval_every_epochs = 0;
  std::vector<Training> trainings;
  std::string problem;  // that ended them early; empty: none
};

Json convergence_json(const ConvergenceRow& row);
// Throws DataError naming the member that is missing or wrong.
ConvergenceRow convergence_from_json(const Json& object, const std::string& path);

Json comparison_json(const Comparison& comparison);
// Throws DataError naming the member that is missing or wrong.
Comparison comparison_from_json(const Json& object, const std::string& path);

}  // namespace ttt::result
