#include "reports/compare.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/statistics.h"
#include "reports/ablations.h"
#include "reports/command_line.h"
#include "reports/numbers.h"
#include "reports/run_metrics.h"
#include "reports/run_names.h"
#include "reports/samples.h"
#include "reports/sides.h"

namespace ttt::reports {
namespace {

using result::Json;
using result::RunRecord;

constexpr std::size_t kBlocks = 24;  // consecutive steps are alike: their blocks are nearly independent

// Only runs that passed have a time to target, so only those have ratios of its factors.
bool both_passed(const RunRecord& a, const RunRecord& b) {
  return a.verdict == result::Verdict::kPassed && b.verdict == result::Verdict::kPassed;
}

// One row of numbers, each with its ratio to the first. Of steps, the ratio is taken over those that both runs have, as
// its interval is.
void add_row(Table& t, const std::vector<NamedRun>& runs, const RunMetric& metric) {
  Row row;
  const RunRecord& a = runs[0].record;
  const double first = metric.value(a);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const RunRecord& b = runs[i].record;
    const double x = metric.value(b);
    row.push_back(x > 0 ? number(metric.form, x) : Cell("-"));
    if (i == 0) continue;
    const auto e = metric.of_steps ? step_time_change(a, b).interval : std::nullopt;
    if (e) row.push_back(number("%.3f", metric.better == Better::kHigher ? 1 / (1 + e->estimate) : 1 + e->estimate));
    else
      row.push_back(
          x > 0 && first > 0 && (metric.of_steps || both_passed(a, b)) ? number("%.3f", x / first) : Cell("-"));
  }
  t.add(metric.label, std::move(row));
}

void add_step_time(Table& t, const std::vector<NamedRun>& runs) {
  Row interval = {""}, finding = {""};
  for (std::size_t i = 1; i < runs.size(); ++i) {
    const auto [e, reason, steps] = step_time_change(runs[0].record, runs[i].record);
    const std::string over = ", over the " + std::to_string(steps) + " steps both have";
    interval.push_back("");
    interval.push_back(e ? Cell(fixed("%.3f to %.3f", 1 + e->low, 1 + e->high) + over, 1 + e->low, 1 + e->high, "")
                         : Cell("none: " + reason));
    finding.push_back("");
    finding.push_back(e ? finding_text(*e) : "-");
  }
  t.add("95 % interval of its ratio", std::move(interval));
  t.add("finding", std::move(finding));
}

}  // namespace

std::vector<std::string> setting_differences(const Json& a, const Json& b, const std::string& path) {
  if (a == b) return {};
  if (!a.is_object() || !b.is_object()) return {path + ": " + a.dump() + " against " + b.dump()};
  std::vector<std::string> out;
  const auto visit = [&](const std::string& key, const Json& x, const Json& y) {
    const auto inner = setting_differences(x, y, path.empty() ? key : path + "." + key);
    out.insert(out.end(), inner.begin(), inner.end());
  };
  for (const auto& [key, value] : a.items()) visit(key, value, b.contains(key) ? b.at(key) : Json());
  for (const auto& [key, value] : b.items())
    if (!a.contains(key)) visit(key, Json(), value);
  return out;
}

StepTimeChange step_time_change(const RunRecord& a, const RunRecord& b) {
  const auto none = [](std::string reason) { return StepTimeChange{std::nullopt, std::move(reason), 0}; };
  const std::size_t n = std::min(a.steps.size(), b.steps.size());
  if (n < kBlocks) return none("fewer than " + std::to_string(kBlocks) + " steps");
  if (text_at(a.data, "train_sha256") != text_at(b.data, "train_sha256")) return none("other data.train_sha256");
  if (text_at(a.recipe.settings, "seed") != text_at(b.recipe.settings, "seed")) return none("other seed");
  if (a.steps.step_ranks != b.steps.step_ranks) return none("other steps.step_s.ranks");
  std::vector<double> blocks;
  for (std::size_t block = 0; block < kBlocks; ++block) {
    const std::size_t begin = block * n / kBlocks, end = (block + 1) * n / kBlocks;
    double total = 0;
    for (std::size_t i = begin; i < end; ++i) {
      if (a.steps.step[i] != b.steps.step[i]) return none("other steps.step");
      if (a.steps.images[i] != b.steps.images[i]) return none("other steps.images");
      if (!(a.steps.step_s[i] > 0 && b.steps.step_s[i] > 0)) return none("a step without time");
      total += std::log(b.steps.step_s[i] / a.steps.step_s[i]);
    }
    blocks.push_back(total / static_cast<double>(end - begin));
  }
  auto e = signed_rank_interval(blocks);
  if (e) *e = {std::expm1(e->estimate), std::expm1(e->low), std::expm1(e->high)};
  return {e, "", n};
}

namespace {

Table side_by_side(const std::vector<NamedRun>& runs) {
  Table t{.header = {"", "A"}, .right = {false, true}};
  for (std::size_t i = 1; i < runs.size(); ++i) {
    const std::string who = letters(i);
    t.header.add_data(who), t.header.add_data(who + " / A");
    t.right.insert(t.right.end(), {true, true});
  }
  return t;
}

// Median of the samples; 0 where the run has no such peak.
double peak_of(const RunRecord& r, const std::string& name) {
  for (const result::Peak& p : r.peaks)
    if (p.name == name && !p.samples.empty()) return median(p.samples);
  return 0;
}

// Seconds of the baseline's step in the comparison that is like `c`; 0 where the run has none.
double baseline_of(const RunRecord& r, const result::Comparison& c) {
  for (const result::Comparison& x : r.comparisons)
    if (x.ablation == c.ablation && variant_text(x) == variant_text(c) && x.status == "measured" &&
        x.samples.size() > 0)
      return median(x.samples.baseline_s);
  return 0;
}

// Machines by what they measured: no run to a target is among these.
Table measured_rates(const std::vector<NamedRun>& runs) {
  Table t = side_by_side(runs);
  const auto row = [&](const std::string& name, const std::vector<double>& values) {
    Row cells = {name};
    for (std::size_t i = 0; i < values.size(); ++i) {
      cells.push_back(values[i] > 0 ? number("%.4g", values[i]) : Cell("-"));
      if (i > 0) cells.push_back(values[i] > 0 && values[0] > 0 ? number("%.3f", values[i] / values[0]) : Cell("-"));
    }
    t.rows.push_back(std::move(cells));
  };
  for (const result::Peak& p : runs[0].record.peaks) {
    std::vector<double> values;
    for (const NamedRun& run : runs) values.push_back(peak_of(run.record, p.name));
    row("peak " + p.name + " [" + p.unit + "]", values);
  }
  for (const result::Comparison& c : runs[0].record.comparisons) {
    std::vector<double> values;
    for (const NamedRun& run : runs) values.push_back(1e3 * baseline_of(run.record, c));
    if (std::count_if(values.begin(), values.end(), [](double v) { return v > 0; }) > 1)
      row("baseline of " + c.ablation + ": " + variant_text(c) + " [ms]", values);
  }
  return t;
}

// Time to target, and the factors of which it is the product and sum.
Table target_factors(const std::vector<NamedRun>& runs) {
  Table t = side_by_side(runs);
  for (const RunMetric& metric : run_metrics()) add_row(t, runs, metric);
  add_step_time(t, runs);
  return t;
}

// Of runs by their steps, of ablations by the mean of what both measured.
std::string answer(const NamedRun& a, const NamedRun& b, const std::string& who) {
  const auto faster = [&](double times, const std::string& why) {
    return (times >= 1 ? who + " is" : "A is") + fixed(" %.2f times as fast as ", std::max(times, 1 / times)) +
           (times >= 1 ? "A" : who) + " (" + why + ").";
  };
  if (a.record.kind == "time_to_target") {
    const auto [e, reason, steps] = step_time_change(a.record, b.record);
    const std::string over = ", over the " + std::to_string(steps) + " steps both have";
    if (e && e->low <= 0 && e->high >= 0)
      return "No difference shown between A and " + who +
             fixed(" (time of a step, ratio %.3f to %.3f", 1 + e->low, 1 + e->high) + over + ").";
    if (e) {
      const auto [low, high] =
          std::minmax({std::exp(std::abs(std::log1p(e->low))), std::exp(std::abs(std::log1p(e->high)))});
      return faster(1 / (1 + e->estimate), fixed("time of a step, 95 %% interval %.2f to %.2f", low, high) + over);
    }
    return "No difference shown between A and " + who + ": no interval (" + reason +
           "). Several runs of each would tell: report compare A... -- B...";
  }
  double logs = 0;
  int rows = 0;
  for (const result::Comparison& c : a.record.comparisons)
    if (const double x = baseline_of(a.record, c), y = baseline_of(b.record, c); x > 0 && y > 0)
      logs += std::log(x / y), ++rows;
  if (rows > 0)
    return faster(std::exp(logs / rows),
        "geometric mean over the steps of " + std::to_string(rows) + " baselines; one run of each, so no interval");
  return "A and " + who + " by what they measured:";
}

}  // namespace

Document compare(const std::vector<NamedRun>& runs, bool all_keys) {
  if (runs.size() < 2) throw UsageError("A comparison needs at least two results that can be read. Name two files.");
  for (const NamedRun& run : runs)
    if (run.record.kind != runs[0].record.kind)
      throw UsageError("'" + runs[0].name + "' is a result of kind " + runs[0].record.kind + " and '" + run.name +
                       "' of kind " + run.record.kind + ". Compare results of one kind.");
  Document d;
  std::vector<Side> sides;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    sides.push_back({letters(i), {&runs[i]}});
    if (i > 0) d.push_back(Paragraph{answer(runs[0], runs[i], letters(i))});
  }
  d.push_back(Heading{"Comparison with A"}), d.push_back(identity(sides));
  const bool to_target = runs[0].record.kind == "time_to_target";
  d.push_back(to_target ? target_factors(runs) : measured_rates(runs));
  Table warnings = cautions(sides, {.ignored = {}, .all = all_keys});
  if (!warnings.rows.empty()) {
    d.push_back(Heading{"Before these numbers are compared"});
    d.push_back(std::move(warnings));
  }
  return d;
}

}  // namespace ttt::reports
