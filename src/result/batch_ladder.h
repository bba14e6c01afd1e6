// How many images a training needs at each batch, its learning rate searched at every one.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/statistics.h"
#include "result/metrics.h"
#include "result/record_fields.h"

namespace ttt::result {

struct LadderTraining {
  std::int64_t batch = 0;  // images of a step, all ranks
  double learning_rate = 0;
  std::int64_t seed = 0;
  bool trial = false;            // of the search for the rate; else a repeat at the best one, from another seed
  double limit_epochs = 0;       // after which it was given up
  std::optional<double> epochs;  // to the crossing of the target (crossing.h); nothing where it was not reached
  double seconds = 0;            // evaluation included
  std::string problem;           // a loss that was not finite, which ended it

  template <class Self, class Visitor> static void fields(Self& t, Visitor&& v) {
    v("batch", t.batch, "images of a step", at_least(1));
    v("learning_rate", t.learning_rate, "after the warm-up", at_least(0));
    v("seed", t.seed, "");
    v("trial", t.trial, "of the search for the rate; false: a repeat at the best rate, from another seed");
    v("limit_epochs", t.limit_epochs, "after which it was given up", at_least(0));
    v.optional("epochs", t.epochs, "to the crossing of the target; absent: not reached", at_least(0));
    v("seconds_s", t.seconds, "evaluation included", at_least(0));
    v.optional("problem", t.problem, "a loss that was not finite, which ended it");
  }
  bool operator==(const LadderTraining&) const = default;
};

// Of one variant, an optimizer.
struct BatchLadder {
  std::string ablation, question, expectation, variant;
  Metrics target;
  std::int64_t part_images = 0;  // at most so many go through the model at a time: gradients are accumulated
  std::string continues;         // run_id of the run that made the first trainings; "": none did
  std::vector<LadderTraining> trainings;

  template <class Self, class Visitor> static void fields(Self& l, Visitor&& v) {
    v("ablation", l.ablation, ""), v("question", l.question, ""), v("expectation", l.expectation, "");
    v("variant", l.variant, "an optimizer");
    v("target", l.target, "metrics that one evaluation must reach");
    v("part_images", l.part_images, "that go through the model at a time at most", at_least(1));
    v.optional("continues", l.continues, "run_id of the run that made the first trainings; absent: this one made all");
    v("trainings", l.trainings, "");
  }
};

// Times the best trial's epochs: what still counts as reaching the target.
inline constexpr double kReachingWithin = 2;

// Of the trainings of one rate: the geometric mean of its trials. Nothing where one did not reach the target, be it a
// trial or a repeat: two trials may pass by luck at a rate that most trainings fail at.
std::optional<double> rate_epochs(std::span<const LadderTraining> trainings);

// The rate with the fewest epochs. Around it, without a gap, the lowest and the highest that reach the target in
// kReachingWithin times as many. Nothing where no rate reaches it.
struct ReachingRates {
  double best = 0, low = 0, high = 0;
};
using EpochsByRate = std::map<double, std::optional<double>>;  // nothing: it does not reach the target
std::optional<ReachingRates> reaching_rates(const EpochsByRate& epochs);

struct Rung {
  std::int64_t batch = 0;
  std::size_t trials = 0;              // trainings, and with them the repeats at rates that one repeat failed at
  std::size_t repeats = 0;             // trainings at the best rate
  std::optional<ReachingRates> rates;  // by rate_epochs()
  std::vector<double> epochs;          // of the repeats
};
std::vector<Rung> rungs(const BatchLadder& ladder);  // by batch

// Puts `ladder` in the place of the one with its ablation and variant, or at the end.
void put(std::vector<BatchLadder>& ladders, const BatchLadder& ladder);

// Epochs at `batch` / epochs at `than`, of repeats that reached the target: the median of all ratios, and the interval
// of the Mann-Whitney test. Nothing for fewer than four repeats of either.
std::optional<Interval> epochs_ratio(const BatchLadder& ladder, std::int64_t batch, std::int64_t than);

// E(B) = E_min (1 + B / B_crit): epochs to the target at batch B, McCandlish et al. 2018, equation 2.7 and section 2.3,
// with E_min for endless steps. Least squares over ln E of all repeats that reached it; the interval holds the B_crit
// whose sum of squares an F test at 5 % does not reject. Nothing for fewer than three batches, or where an end is not
// within 1/64 to 64 times the batches that were trained.
struct CriticalBatch {
  Interval images;
  double least_epochs = 0;  // E_min
  double deviation = 0;     // of ln E around the curve
};
std::optional<CriticalBatch> critical_batch(const BatchLadder& ladder);
// "critical batch 43 images (35 to 52), 0.71 epochs at the least, deviation of one training 6 %", or why there is none.
std::string critical_batch_text(const BatchLadder& ladder);

}  // namespace ttt::result
