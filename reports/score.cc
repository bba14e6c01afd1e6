#include "reports/score.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "core/statistics.h"
#include "reports/numbers.h"
#include "reports/run_metrics.h"
#include "reports/run_names.h"

namespace ttt::reports {
namespace {

using result::RunRecord;
using result::Verdict;

constexpr std::size_t kRuns = 5;  // MLPerf training rules: five runs of Mask R-CNN
constexpr double kNever = std::numeric_limits<double>::infinity();

// A run that ended without its target says how long the target takes: longer. One that was shortened or not made says nothing.
bool is_attempt(Verdict v) { return v == Verdict::kPassed || v == Verdict::kNotConverged || v == Verdict::kFailed || v == Verdict::kIncorrect; }

// MLPerf's clock: from the start of the run, data touched, to the end of the evaluation that reached the target.
double start_to_stop(const RunRecord& r) {
  const auto e = reaching_evaluation(r);
  return r.verdict == Verdict::kPassed && e ? e->wall_s : kNever;
}
double whole_time(const RunRecord& r) { return std::isinf(start_to_stop(r)) ? kNever : time_factors(r).time_to_target_s; }

// Seeds are what repetitions differ in, and paths are where they were written.
std::string group_of(const RunRecord& r) {
  result::Json settings = r.recipe.settings;
  if (settings.is_object()) settings.erase("seed");
  return system_text(r) + ", recipe " + r.recipe.name + ", commit " + commit_text(r) + '\n' + text_at(r.data, "train_sha256") + '\n' + settings.dump();
}

using Group = std::vector<const NamedRun*>;
std::map<std::string, Group> groups_of(const std::vector<NamedRun>& runs) {
  std::map<std::string, Group> groups;
  for (const NamedRun& r : runs)
    if (r.record.kind == "time_to_target" && is_attempt(r.record.verdict)) groups[group_of(r.record)].push_back(&r);
  for (auto& [key, group] : groups)
    std::sort(group.begin(), group.end(), [](const NamedRun* a, const NamedRun* b) {
      return std::pair(start_to_stop(a->record), a->name) < std::pair(start_to_stop(b->record), b->name);
    });
  return groups;
}

std::size_t never(const Group& group) {
  return static_cast<std::size_t>(std::count_if(group.begin(), group.end(), [](const NamedRun* r) { return std::isinf(start_to_stop(r->record)); }));
}
bool scored(const Group& group) { return group.size() >= kRuns && never(group) < 2; }

Cell time_cell(double s) { return std::isinf(s) ? Cell("not reached") : seconds(s); }

Table rows_of(const Group& group) {
  Table t{.header = {"result", "verdict", "seed", "epochs to target", "start to stop", "time to target", "counts"}, .right = {false, false, true, true, true, true, false}};
  for (std::size_t i = 0; i < group.size(); ++i) {
    const RunRecord& r = group[i]->record;
    const auto seed = r.recipe.settings.find("seed");
    const TimeFactors f = time_factors(r);
    const char* counts = !scored(group) ? "no score" : i == 0 ? "no: the fastest" : i + 1 == group.size() ? "no: the slowest" : "yes";
    t.rows.push_back({group[i]->name, std::string(result::verdict_name(r.verdict)), seed != r.recipe.settings.end() ? Cell(seed->dump()) : Cell("-"),
                      f.reached && f.epochs > 0 ? number("%.2f", f.epochs) : Cell("-"), time_cell(start_to_stop(r)), time_cell(whole_time(r)), counts});
  }
  return t;
}

Table score_of(const Group& group) {
  Table t{.header = {"", "start to stop", "time to target"}, .right = {false, true, true}};
  std::vector<double> clock, whole;
  for (const NamedRun* r : group) clock.push_back(start_to_stop(r->record)), whole.push_back(whole_time(r->record));
  const auto add = [&](Label name, auto&& value) { t.add(name, {time_cell(value(clock)), time_cell(value(whole))}); };
  const auto least = [](const std::vector<double>& v) { return *std::min_element(v.begin(), v.end()); };
  const auto most = [](const std::vector<double>& v) { return *std::max_element(v.begin(), v.end()); };
  add("Olympic mean", [](const std::vector<double>& v) { return olympic_mean(v); });
  add("median", [](const std::vector<double>& v) { return quantile(v, 0.5); });
  add("fastest", least);
  add("slowest", most);
  const auto range = [&](const std::vector<double>& v) {
    const double s = (most(v) - least(v)) / olympic_mean(v);
    return std::isinf(s) ? Cell("-") : percent(s);
  };
  t.add("spread", {range(clock), range(whole)});
  return t;
}

std::string refusal(const Group& group) {
  if (group.size() < kRuns)
    return "No score: the Olympic mean needs " + std::to_string(kRuns) + " runs of one system and recipe, here are " + std::to_string(group.size()) + ". Name the others too.";
  return "No score: " + std::to_string(never(group)) + " of " + std::to_string(group.size()) + " runs did not reach the target, and only one may be dropped as the slowest.";
}

}  // namespace

bool has_score(const std::vector<NamedRun>& runs) {
  const auto groups = groups_of(runs);
  return std::any_of(groups.begin(), groups.end(), [](const auto& g) { return scored(g.second); });
}

Document score(const std::vector<NamedRun>& runs) {
  Document d;
  for (const auto& [key, group] : groups_of(runs)) {
    d.push_back(Heading{key.substr(0, key.find('\n'))});
    if (scored(group))
      d.push_back(score_of(group));
    else
      d.push_back(Paragraph{refusal(group)});
    d.push_back(rows_of(group));
  }
  std::string others;
  for (const NamedRun& r : runs)
    if (r.record.kind != "time_to_target" || !is_attempt(r.record.verdict))
      others += (others.empty() ? "" : ", ") + r.name + " (" + r.record.kind + ", " + std::string(result::verdict_name(r.record.verdict)) + ")";
  if (!others.empty()) d.push_back(Paragraph{"Not runs to a target, so not counted: " + others + "."});
  return d;
}

}  // namespace ttt::reports
