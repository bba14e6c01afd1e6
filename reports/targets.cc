#include "reports/targets.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/text.h"
#include "reports/command_line.h"
#include "reports/numbers.h"
#include "result/crossing.h"
#include "result/exchange.h"
#include "result/result_file.h"
#include "settings/toml_json.h"

namespace ttt::reports {
namespace {

using result::ConvergenceRow;
using result::Json;
using result::Metric;
using result::quote;
using result::Training;

constexpr std::pair<TargetBasis, std::string_view> kBases[] = {
    {TargetBasis::kRepeats, "repeats"}, {TargetBasis::kPublication, "publication"}};
constexpr double kHalfOfLastDigit = 0.005;  // targets have two decimals

Target parse_target(const std::filesystem::path& file) {
  const Json document = harness::toml_json(result::read_text(file.string()), quote(file));
  const auto t = result::record_from_json<Target>(document, "");
  result::refuse_unknown_keys(document, result::detail::value_json(t), file.filename().string(), "target");
  if (t.by == TargetBasis::kRepeats && (t.epochs <= 0 || t.repeats.empty() || t.trials.empty()))
    throw DataError(quote(file) + " is a target by repeats, and lacks epochs, trials or repeats. Add them.");
  if (t.by == TargetBasis::kPublication && (t.source.empty() || t.takes.empty()))
    throw DataError(quote(file) + " is a published target, and lacks source or takes. Add them.");
  return t;
}

const ConvergenceRow& row_of(const result::RunRecord& record, const std::string& file) {
  if (record.convergence.size() != 1 || !record.convergence[0].fixed_steps)
    throw DataError(quote(file) + " has no trainings of a fixed length, or several ablations. Name another result.");
  return record.convergence[0];
}

const result::AccuracyPoint& point_after(const Training& t, double epochs) {
  const auto at = std::find_if(t.accuracy.begin(), t.accuracy.end(),
      [&](const result::AccuracyPoint& p) { return std::abs(p.epochs - epochs) < 1e-6 * epochs; });
  if (at == t.accuracy.end())
    throw DataError("The training of seed " + std::to_string(t.seed) + " has no evaluation after " +
                    fixed("%.6g", epochs) + " epochs. Correct `epochs` of the target.");
  return *at;
}

double value_of(const result::Metrics& metrics, const std::string& name) {
  const double* value = result::find(metrics, name);
  if (!value) throw DataError("An evaluation has no metric " + quote(name) + ". Take the original file.");
  return *value;
}

// The mean with its interval by Student's t.
std::optional<Interval> mean_interval(const std::vector<double>& samples) {
  if (samples.size() < 2) return std::nullopt;
  const Estimate mean = mean_estimate(samples);
  const double reach = student_t_quantile(0.975, static_cast<int>(samples.size()) - 1) * mean.error;
  return Interval{mean.value, mean.value - reach, mean.value + reach};
}

Repeats::OfMetric metric_of(const ConvergenceRow& row, const Target& target, const Metric& bound) {
  std::vector<double> values, gaps;
  for (const Training& t : row.trainings) {
    values.push_back(value_of(point_after(t, target.epochs).metrics, bound.name));
    if (t.fresh) gaps.push_back(value_of(*t.fresh, bound.name) - value_of(t.accuracy.back().metrics, bound.name));
  }
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return {.name = bound.name,
      .target = bound.value,
      .median = median(values),
      .least = *least,
      .most = *most,
      .bounds = median_interval(values),
      .gap = mean_interval(gaps)};
}

// "0.503 (0.497 to 0.509)"
Cell median_cell(const Repeats::OfMetric& m) {
  if (!m.bounds) return number("%.3f", m.median);
  return interval_cell(
      fixed("%.3f (%.3f to %.3f)", m.median, m.bounds->low, m.bounds->high), {m.median, m.bounds->low, m.bounds->high});
}

Cell gap_cell(const Repeats::OfMetric& m) {
  if (!m.gap) return "-";
  return interval_cell(fixed("%+.4f (%+.4f to %+.4f)", m.gap->estimate, m.gap->low, m.gap->high), *m.gap);
}

std::string finding(const Repeats::OfMetric& m) {
  if (is_median(m)) return "the median";
  return fixed(m.median > m.target ? "%.3f below the median" : "%.3f above the median", std::abs(m.median - m.target));
}

void add_epochs(Table& t, const char* name, const Repeats::Epochs& epochs) {
  const std::size_t n = epochs.values.size();
  if (n < 2) return;
  const double middle = median(epochs.values),
               spread = mean_estimate(epochs.values).error * std::sqrt(static_cast<double>(n));
  t.rows.push_back({name, whole(static_cast<std::int64_t>(n)), number("%.3f", middle), number("%.3f", spread),
      percent(spread / middle), epochs.errors.empty() ? Cell("-") : percent(median(epochs.errors))});
}

// What the trials say: every other variant against the recipe.
std::string trials_text(const ConvergenceRow& row) {
  std::vector<std::string> variants;
  for (const Training& t : row.trainings)
    if (std::find(variants.begin(), variants.end(), t.variant) == variants.end()) variants.push_back(t.variant);
  std::vector<std::string> parts;
  for (const std::string& v : variants) {
    if (v == row.baseline) continue;
    const auto e = result::exchange(row, v);
    parts.push_back(v + (e ? fixed(" %+.1f %%", 100 * e->steps.estimate) +
                                    fixed(" (%+.1f to %+.1f)", 100 * e->steps.low, 100 * e->steps.high)
                           : " " + result::no_exchange_text(row, v)));
  }
  return result::counted(variants.size(), "trial") + " of " + result::counted(row.trainings.size(), "training") +
         " in all (" + row.ablation + "). Steps to equal accuracy against " + row.baseline + ": " +
         result::joined(parts) + ".";
}

void add_repeated(const Target& target, const std::filesystem::path& folder, Document& d) {
  const result::RunRecord trials = result::read_result(folder / target.trials),
                          repeats = result::read_result(folder / target.repeats);
  const Repeats r = repeats_of(row_of(repeats, target.repeats), target);
  d.push_back(Heading{target.recipe + ": the median of " + result::counted(r.trainings, "repeat") + " after " +
                      fixed("%.3g", target.epochs) + " epochs"});
  Table t{.header = {"metric", "target", "median", "least", "most", "fresh - held-out", "finding"},
      .right = {false, true, true, true, true, true, false}};
  for (const Repeats::OfMetric& m : r.metrics)
    t.rows.push_back({result::metric_title(m.name), number("%.2f", m.target), median_cell(m), number("%.3f", m.least),
        number("%.3f", m.most), gap_cell(m), finding(m)});
  d.push_back(std::move(t));
  d.push_back(Paragraph{
      std::to_string(r.reached) + " of " + std::to_string(r.trainings) + " repeats have reached the target by then."});
  Table epochs{.header = {"epochs to target", "n", "median", "deviation", "of the median", "error of one"},
      .right = {false, true, true, true, true, true}};
  add_epochs(epochs, "first evaluation", r.rule);
  add_epochs(epochs, "crossing", r.crossing);
  if (!epochs.rows.empty()) d.push_back(std::move(epochs));
  d.push_back(Paragraph{
      "Chosen by " + trials_text(row_of(trials, target.trials)) + (target.why.empty() ? "" : " " + target.why)});
}

}  // namespace

std::span<const std::pair<TargetBasis, std::string_view>> words_of(TargetBasis) { return kBases; }

std::vector<Target> read_targets(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  if (const auto own = folder / "targets"; std::filesystem::is_directory(own))
    for (const auto& entry : std::filesystem::directory_iterator(own))
      if (entry.path().extension() == ".toml") files.push_back(entry.path());
  if (files.empty())
    throw UsageError("There is no targets/NAME.toml in " + quote(folder) + ". Name the folder of results that has it.");
  std::sort(files.begin(), files.end());
  std::vector<Target> all;
  for (const auto& file : files) all.push_back(parse_target(file));
  return all;
}

Repeats repeats_of(const ConvergenceRow& row, const Target& target) {
  if (row.averaged)
    throw DataError("The repeats of " + quote(target.recipe) +
                    " were evaluated by averages of the weights, which a run does not take. Make them with --set "
                    "ablate.averaged_weights=false.");
  Repeats r;
  for (const Training& t : row.trainings) {
    if (t.variant != row.baseline)
      throw DataError("The repeats of " + quote(target.recipe) + " have several variants.");
    ++r.trainings;
    const auto first = std::find_if(t.accuracy.begin(), t.accuracy.end(),
        [&](const result::AccuracyPoint& p) { return result::reached(p.metrics, target.target); });
    if (first == t.accuracy.end()) continue;
    if (first->epochs <= target.epochs) ++r.reached;
    const auto c = result::crossing(t.accuracy, target.target);
    if (!c) continue;
    r.rule.values.push_back(first->epochs);
    r.rule.errors.push_back((first->epochs - std::prev(first)->epochs) / std::sqrt(12.0) / first->epochs);
    r.crossing.values.push_back(c->epochs.estimate);
    if (c->has_interval)
      r.crossing.errors.push_back(
          (c->epochs.high - c->epochs.low) / 2 / student_t_quantile(0.975, c->evaluations - 2) / c->epochs.estimate);
  }
  if (r.trainings == 0) throw DataError("The repeats of " + quote(target.recipe) + " have no training.");
  for (const Metric& bound : target.target) r.metrics.push_back(metric_of(row, target, bound));
  return r;
}

bool is_median(const Repeats::OfMetric& m) { return std::abs(m.median - m.target) <= kHalfOfLastDigit; }

Document targets(const std::vector<Target>& all, const std::filesystem::path& folder) {
  Document d;
  const auto repeated = static_cast<std::size_t>(
      std::count_if(all.begin(), all.end(), [](const Target& t) { return t.by == TargetBasis::kRepeats; }));
  d.push_back(Paragraph{result::counted(all.size(), "target") + ": " + std::to_string(repeated) + " by repeats, " +
                        std::to_string(all.size() - repeated) + " from publications."});
  for (const Target& t : all) {
    if (t.by == TargetBasis::kRepeats) {
      add_repeated(t, folder, d);
    } else {
      d.push_back(Heading{t.recipe + ": " + result::metrics_text(t.target, 3)});
      d.push_back(
          Paragraph{t.source + (t.words.empty() ? "" : ": \"" + t.words + "\"") + ". Repeats take: " + t.takes});
    }
    for (const std::string& command : t.commands) d.push_back(Paragraph{"    " + command});
  }
  return d;
}

static std::function<int()> declare_targets(CLI::App& command) {
  struct Arguments {
    std::string folder = "results";
    Output output;
  };
  const auto a = std::make_shared<Arguments>();
  command.add_option("folder", a->folder, "Folder of results that holds targets/*.toml; by default 'results'");
  add_output_options(command, a->output);
  command.footer(
      "A target by repeats is the median of twenty trainings of a recipe that counted trials chose.\n"
      "Their statistics are computed from the results that FOLDER/targets/NAME.toml names.\n\n"
      "Example: report targets results");
  return [a] {
    print(targets(read_targets(a->folder), a->folder), a->output);
    return 0;
  };
}

const Command kTargets = {"targets", "Where each recipe's target comes from, and what repeats reach", declare_targets};

}  // namespace ttt::reports
