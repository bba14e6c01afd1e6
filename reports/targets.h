// Where the targets of the shipped recipes come from, and what repeats of those recipes reach.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "reports/document.h"
#include "result/run_record.h"

namespace ttt::reports {

enum class TargetBasis { kRepeats, kPublication };
std::span<const std::pair<TargetBasis, std::string_view>> words_of(TargetBasis);

// FOLDER/targets/NAME.toml. By repeats: the target is the median of repeats of a recipe that counted trials chose, as
// in AlgoPerf (Dahl et al. 2023, "Benchmarking Neural Network Training Algorithms", section 4.1).
struct Target {
  std::string recipe;
  TargetBasis by = TargetBasis::kRepeats;
  result::Metrics target;
  double epochs = 0;            // passes after which the repeats' accuracy is taken
  std::string trials, repeats;  // results of `ablate`, below the folder
  std::string why;              // the recipe, where another trial was faster
  std::string source, words;    // of a publication
  std::string takes;            // what repeats would take, where there are none
  std::vector<std::string> commands;

  template <class Self, class Visitor> static void fields(Self& t, Visitor&& v) {
    v("recipe", t.recipe, "");
    v("by", t.by, "repeats or a publication");
    v("target", t.target, "that the recipe has");
    v.optional("epochs", t.epochs, "passes after which the repeats' accuracy is taken");
    v.optional("trials", t.trials, "result of the trainings that chose the recipe");
    v.optional("repeats", t.repeats, "result of the trainings of the recipe");
    v.optional("why", t.why, "the recipe, where another trial was faster");
    v.optional("source", t.source, "of a publication");
    v.optional("words", t.words, "of that source");
    v.optional("takes", t.takes, "what repeats would take");
    v("commands", t.commands, "that make the results");
  }
};

// In the order of their names. Throws UsageError where the folder has none, DataError for an unknown key, and for a
// target by repeats without epochs or results.
std::vector<Target> read_targets(const std::filesystem::path& folder);

// Of repeats: fixed-length trainings of one variant, by the newest weights.
struct Repeats {
  std::size_t trainings = 0, reached = 0;  // reached: the target, at or before `epochs`
  struct OfMetric {
    std::string name;
    double target = 0, median = 0, least = 0, most = 0;  // after `epochs`
    std::optional<Bounds> bounds;                        // of the median
    // Fresh - held-out images, of the last weights of each training: mean with its 95 % interval by Student's t.
    std::optional<Interval> gap;
  };
  std::vector<OfMetric> metrics;
  // Epochs to the target, of the trainings that reached it at any time and whose first evaluation did not.
  struct Epochs {
    std::vector<double> values;
    std::vector<double> errors;  // standard error of a training's value by its own evaluations, over the value
  };
  Epochs rule;      // the first evaluation that reached it: anywhere between it and the one before, alike
  Epochs crossing;  // trainings whose crossing has no interval have no error
};
// Throws DataError where the row has several variants, was evaluated by averaged weights, or has no evaluation after
// `epochs`.
Repeats repeats_of(const result::ConvergenceRow& row, const Target& target);
// The target is the median, rounded to two decimals.
bool is_median(const Repeats::OfMetric& metric);

Document targets(const std::vector<Target>& targets, const std::filesystem::path& folder);

}  // namespace ttt::reports
