// The effect of a technique on convergence: accuracy at equal steps, exchanged into steps to equal accuracy.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/statistics.h"
#include "result/comparison.h"

namespace ttt::result {

// A stopping rule per run would compare the luck of single evaluations, so all trainings last the same steps.
// Each gives one number: the mean over its evaluations of the *progress*, the least share of its target that a metric
// has. Progress is nearly straight over the logarithm of the steps (crossing.h); its slope b is measured in the same
// runs. d is the mean difference of the pairs, variant - baseline of the same seed. For the same progress the variant
// needs exp(-d / b) times the baseline's steps. The interval is Fieller's, with Student's t of the pairs.
// Records in training speed trade steps for loss by the same rule (modded-nanogpt, track 3).
struct Exchange {
  std::size_t pairs = 0;
  std::map<std::string, Interval> metrics;  // by name: differences of the mean over evaluations, by Student's t
  std::map<std::string, double> means;      // by name: of the baseline, from which those are differences
  Interval progress;                        // the same of the progress, d
  double slope = 0;                         // b: of the progress, per unit of log(steps)
  Interval steps;                           // relative change of the steps to equal accuracy, variant / baseline - 1
  double deviation = 0;                     // of one pair, in relative steps
  double detectable = 0;                    // change of steps that so many pairs find in nine of ten comparisons
};
inline constexpr std::size_t kFewestPairs = 3;  // for an interval: two degrees of freedom

// The progress of a training, see above; throws std::invalid_argument without evaluations.
double progress(const Training& training, const Metrics& target);

// Of a row of fixed steps. Nothing for fewer than kFewestPairs seeds that both sides have, or where a training has
// fewer than three evaluations. Nothing where one of the variant diverged, or where the slope is not shown to be
// positive.
std::optional<Exchange> exchange(const ConvergenceRow& row, const std::string& variant);

// Why there is none: "diverged in 1 of 6", or that trainings are too few or do not rise.
std::string no_exchange_text(const ConvergenceRow& row, const std::string& variant);

// Of a factorial design, over the seeds that have every combination (Box, Hunter and Hunter 2005, chapter 5). A
// factor's main effect is the mean change over the combinations of the others. The interaction of two is the change of
// both together less the changes of either alone, the mean over the others.
struct FactorEffect {
  std::vector<std::string> factors;  // one: its main effect; two: their interaction
  std::size_t seeds = 0;
  Interval steps;  // as of Exchange
};
// Main effects, then interactions, in the order of the factors. Empty where the row has no combinations, where one of
// them diverged, and as for exchange().
std::vector<FactorEffect> factor_effects(const ConvergenceRow& row);

}  // namespace ttt::result
