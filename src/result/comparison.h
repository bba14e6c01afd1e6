// Two variants of one program, timed in turns on the same batches.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/statistics.h"
#include "result/record_fields.h"

namespace ttt::result {

// Seconds of a step in one phase, a number for each round: the mean over its steps that count, and over ranks.
struct PhaseSamples {
  std::vector<double> baseline_s, variant_s;  // rounded to nanoseconds: more digits say nothing

  template <class Self, class Visitor> static void fields(Self& s, Visitor&& v) {
    v("baseline", s.baseline_s, "", at_least(0)), v("variant", s.variant_s, "", at_least(0));
  }
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

  template <class Self, class Visitor> static void fields(Self& s, Visitor&& v) {
    v.constant("ranks", "max", "times are the slowest rank's");
    v.later("warmup_turns", s.warmup_turns, "blocks of either side before rounds counted", at_least(0));
    v("stopped", s.stopped, "what ended the measurement", one_of({"", "precise", "time", "rounds", "interrupted"}));
    v.later("confidence", s.confidence, "of the final interval; above 0.95 where precision was looked at before",
        above(0, 1));
    v.later("build", s.build, "which making of both sides", at_least(0));
    v("round", s.round, "", at_least(0));
    v("step", s.step, "of that build", at_least(0));
    v("variant_first", s.variant_first, "1 where the variant had its turn before the baseline", between(0, 1));
    v("baseline_s", s.baseline_s, "seconds of the step", above(0));
    v("variant_s", s.variant_s, "seconds of the same step, on the same batch", above(0));
    v.optional_group("phase_s", !s.phases.empty(), "means over the steps of a round", [&](auto&& phase) {
      phase.constant("ranks", "mean", "");
      phase("values", s.phases, "by phase, a number for each round");
    });
    v.template older<std::int64_t>("warmup_rounds", "of earlier programs, which built once", s,
        [](auto& to, std::int64_t rounds) { to.warmup_turns = 2 * rounds, to.build.assign(to.step.size(), 0); });
    v.either({"build", "warmup_turns"}, {"warmup_rounds"});
  }
  // Throws DataError where columns differ in length, a time is not positive, or the confidence is not between 0 and 1.
  static void check(const PairedSamples& samples, const std::string& path);
};

// One number for each round, build by build: the mean of log(variant / baseline) over its steps. A round has both
// orders, so drift of the machine cancels.
std::vector<std::vector<double>> round_effects(const PairedSamples& samples);
// One for each build: the Hodges-Lehmann estimate of its rounds' effects.
std::vector<double> build_effects(const PairedSamples& samples);

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

using Pairs = Named<std::array<double, 2>>;  // of baseline and variant

// How one side differs from the recipe that the comparison was started with.
struct SideChange {
  // By key, with its value; what the setting changes for both sides is on both.
  Json sets = Json::object();
  std::vector<std::string> replaces;  // components that the recipe makes otherwise
  bool alone = false;                 // an operation by itself, or another launch: no training step of the recipe

  template <class Self, class Visitor> static void fields(Self& s, Visitor&& v) {
    v.template described<Named<Anything>>("sets", s.sets, "settings that the recipe has otherwise");
    v("replaces", s.replaces, "components that the recipe makes otherwise");
    v("alone", s.alone, "an operation by itself, or another launch: no training step of the recipe");
  }
};
struct AgainstRecipe {
  SideChange baseline, variant;

  template <class Self, class Visitor> static void fields(Self& a, Visitor&& v) {
    v("baseline", a.baseline, ""), v("variant", a.variant, "");
  }
};

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
  std::optional<AgainstRecipe> against_recipe;
  std::optional<double> known_effect;  // of a self test: what the interval must contain
  // Mean seconds of a step by phase: over the rounds of samples.phases. Of earlier versions, without these, settling
  // steps included.
  Json phases = Json::object();  // {"forward": [baseline, variant]}
  // Means over a step, sums over ranks: {"page_faults": [baseline, variant]}. Absent: not counted. Operators: of the
  // last build.
  Json counters = Json::object();
  // Of the nodes while a build's steps ran: {"others": [[baseline, variant] of each build]}. Absent: no system tells.
  std::map<std::string, std::vector<std::array<double, 2>>> noise;
  PairedSamples samples;

  template <class Self, class Visitor> static void fields(Self& c, Visitor&& v) {
    v("ablation", c.ablation, ""), v("question", c.question, ""), v("expectation", c.expectation, "");
    v("baseline", c.baseline, ""), v("variant", c.variant, "");
    v.later("setting", c.setting, "under which both sides ran; empty: the recipe as it is");
    v.later("design", c.design, "", one_of({"one_off", "leave_one_out", "ladder", "factorial", "null"}));
    v.later("factors", c.factors, "of a combination: what is on in the variant");
    v("repetition", c.repetition, "", at_least(0));
    v("status", c.status, "measured, or why not",
        one_of({"measured", "not_supported", "same_build", "promise_broken", "incorrect"}));
    v("reason", c.reason, "of a status other than measured");
    v("promise", c.promise, "how the numbers of both sides compare", one_of({"bitwise", "close", "other_work"}));
    v.group("gate", "the check of that promise", [&](auto&& gate) {
      gate("steps", c.gate_steps, "", at_least(0));
      gate("promised_difference", c.promised_difference, "of a loss, relative", at_least(0));
      gate("largest_difference", c.largest_difference, "of a loss, relative", at_least(0));
    });
    v.template described<Named<std::array<Anything, 2>>>("built", c.built, "what differs, of baseline and variant");
    v.optional("against_recipe", c.against_recipe, "how each side differs from the recipe");
    v.optional("known_effect", c.known_effect, "of a self test: what the interval must contain");
    v.template described<Pairs>("phase_s", c.phases, "mean seconds of a step, of baseline and variant");
    v.template later_described<Pairs>("counters", c.counters, "means over a step, sums over ranks");
    v.optional(
        "noise", c.noise, "of the nodes while the steps of each build ran, of baseline and variant", at_least(0));
    v("samples", c.samples, "");
  }
  static void check(const Comparison& comparison, const std::string& path);  // throws DataError
};

// Earlier programs had two keys for Mask R-CNN's metrics, in place of `key`.
template <class Visitor>
void declare_earlier(auto& metrics, Visitor&& v, const char* key, const char* box, const char* mask) {
  const auto take = [&](const char* old, const char* name) {
    v.template older<double>(old, "of earlier programs", metrics, [name](auto& to, double value) {
      to.push_back({name, value});
    });
  };
  take(box, "bbox_ap"), take(mask, "segm_ap");
  v.either({key}, {box, mask});
}

// Accuracy during a training.
struct AccuracyPoint {
  double epochs = 0;  // passes over the training images
  Metrics metrics;

  template <class Self, class Visitor> static void fields(Self& p, Visitor&& v) {
    v("epochs", p.epochs, "passes over the training images", at_least(0));
    v("metrics", p.metrics, "those of the target");
  }
};

// One training of one variant: to a target, or for a fixed number of steps.
struct Training {
  std::string variant;
  std::int64_t seed = 0;
  bool reached = false;
  // to the reaching evaluation, else of the whole run; resolved to the interval of evaluations
  double epochs = 0;
  double seconds = 0;                   // by the clock, from the first step to the same moment, evaluation included
  Metrics metrics;                      // of that evaluation, those of the target
  std::vector<AccuracyPoint> accuracy;  // of a fixed number of steps: at every evaluation, the same of all trainings
  std::optional<Metrics> fresh;         // of the last weights on images of this seed alone
  std::string problem;                  // a loss that was not finite: then there is no accuracy

  template <class Self, class Visitor> static void fields(Self& t, Visitor&& v) {
    v("variant", t.variant, ""), v("seed", t.seed, ""), v("reached", t.reached, "the target");
    v("epochs", t.epochs, "to the reaching evaluation, else of the whole run", at_least(0));
    v("seconds_s", t.seconds, "to the same moment, evaluation included", at_least(0));
    v.later("metrics", t.metrics, "of that evaluation, those of the target");
    v.optional("accuracy", t.accuracy, "at every evaluation of a fixed number of steps");
    v.optional("fresh", t.fresh, "of the last weights on images that were generated for this seed alone");
    v.optional("problem", t.problem, "a loss that was not finite, which ended it");
    declare_earlier(t.metrics, v, "metrics", "box_ap", "mask_ap");
  }
};

// A variant of a factorial design, and which of its factors are on in it.
struct Combination {
  std::string variant;
  std::vector<std::string> factors;

  template <class Self, class Visitor> static void fields(Self& c, Visitor&& v) {
    v("variant", c.variant, ""), v("factors", c.factors, "that are on");
  }
};

// Trainings of several variants from the same seeds: what a technique does to convergence. Today's last a fixed number
// of steps, and are compared by their accuracy there (exchange.h). Those of earlier programs ended at the target.
struct ConvergenceRow {
  std::string ablation, question, expectation, baseline;
  Metrics target;
  bool fixed_steps = false;
  bool side_by_side = false;  // each training on one rank, as many at a time as there are ranks
  bool averaged = false;      // accuracies of averages of the weights (measure/averaged_weights.h)
  // Of the final interval; above 0.95 where its precision was looked at before, as PairedSamples::confidence.
  double confidence = 0.95;
  double eval_every_epochs = 0;
  std::vector<double> ends;  // epochs of the trainings that an entry is of, each evaluated at its end; or empty
  std::vector<Combination> combinations;  // of a factorial design, every one of its factors
  std::vector<Training> trainings;
  std::string problem;  // that ended them early; empty: none

  template <class Self, class Visitor> static void fields(Self& r, Visitor&& v) {
    v("ablation", r.ablation, ""), v("question", r.question, ""), v("expectation", r.expectation, "");
    v("baseline", r.baseline, "");
    v.later("target", r.target, "metrics that one evaluation must reach");
    v("eval_every_epochs", r.eval_every_epochs, "to which epochs are resolved", at_least(0));
    v.optional("fixed_steps", r.fixed_steps, "all trainings last as many steps; absent: until the target");
    v.optional("side_by_side", r.side_by_side, "a training on each rank; absent: each on all ranks");
    v.optional("averaged", r.averaged, "averages of the weights were evaluated; absent: the newest weights");
    v.later("confidence", r.confidence, "of the final interval", above(0, 1));
    v.optional("ends", r.ends, "each of trainings[] is one for each of these epochs, evaluated at its end");
    v.optional("combinations", r.combinations, "of a factorial design, every one of its factors");
    v("trainings", r.trainings, "");
    v("problem", r.problem, "that ended them early; empty: none");
    declare_earlier(r.target, v, "target", "target_box_ap", "target_mask_ap");
  }
};

}  // namespace ttt::result
