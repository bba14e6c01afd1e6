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

// Time to target, and the factors of which it is the product and sum.
Table target_factors(const std::vector<NamedRun>& runs) {
  Table t = side_by_side(runs);
  for (const RunMetric& metric : run_metrics()) add_row(t, runs, metric);
  add_step_time(t, runs);
  return t;
}

// When each reached the target, or how else it ended. `b_is_faster`: by the time of a step, where that is shown.
std::string ends_text(const RunRecord& a, const RunRecord& b, const std::string& who, std::optional<bool> b_is_faster) {
  std::string text;
  if (!both_passed(a, b)) {
    for (const auto& [run, name] : {std::pair{&a, std::string("A")}, {&b, who}})
      if (const auto v = run->verdict; v != result::Verdict::kPassed && v != result::Verdict::kSmoke)
        text += " " + name + " ended as " + std::string(result::verdict_name(v)) + ".";
    return text;
  }
  const TimeFactors x = time_factors(a), y = time_factors(b);
  const auto arrival = [](const std::string& name, const TimeFactors& f) {
    return name + fixed(" %.3f s", f.time_to_target_s) + (f.epochs > 0 ? fixed(" in %.2f epochs", f.epochs) : "");
  };
  const double lead = x.time_to_target_s - y.time_to_target_s;  // of B
  if (b_is_faster && (*b_is_faster ? lead < 0 : lead > 0))
    text = " Yet " + (lead > 0 ? who : "A") + " reached the target first: ";
  else text = " Time to target: ";
  return text + arrival("A", x) + ", " + arrival(who, y) + ".";
}

std::string answer(const RunRecord& a, const RunRecord& b, const std::string& who) {
  const auto [e, reason, steps] = step_time_change(a, b);
  const std::string none = "No difference shown between A and " + who;
  if (!e)
    return none + ": no interval (" + reason + "). Several runs of each would tell: report compare A... -- B..." +
           ends_text(a, b, who, std::nullopt);
  const std::string over = ", over the " + std::to_string(steps) + " steps both have).";
  if (e->low <= 0 && e->high >= 0)
    return none + fixed(" (time of a step, ratio %.3f to %.3f", 1 + e->low, 1 + e->high) + over +
           ends_text(a, b, who, std::nullopt);
  const bool b_is_faster = e->estimate < 0;
  const auto times = [](double change) { return std::exp(std::abs(std::log1p(change))); };
  const auto [low, high] = std::minmax({times(e->low), times(e->high)});
  return (b_is_faster ? who + " is" : "A is") + fixed(" %.2f times as fast as ", times(e->estimate)) +
         (b_is_faster ? "A" : who) + fixed(" (time of a step, 95 %% interval %.2f to %.2f", low, high) + over +
         ends_text(a, b, who, b_is_faster);
}

}  // namespace

Document compare(const std::vector<NamedRun>& runs, bool all_keys) {
  if (runs.size() < 2) throw UsageError("A comparison needs at least two results that can be read. Name two files.");
  Document d;
  std::vector<Side> sides;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    sides.push_back({letters(i), {&runs[i]}});
    if (i > 0) d.push_back(Paragraph{answer(runs[0].record, runs[i].record, letters(i))});
  }
  d.push_back(Heading{"Comparison with A"}), d.push_back(identity(sides));
  d.push_back(target_factors(runs));
  Table warnings = cautions(sides, {.ignored = {}, .all = all_keys});
  if (!warnings.rows.empty()) {
    d.push_back(Heading{"Before these numbers are compared"});
    d.push_back(std::move(warnings));
  }
  return d;
}

}  // namespace ttt::reports
