#include "reports/score.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/statistics.h"
#include "reports/groups.h"
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

// The first key in which two runs are no repetitions of each other, with both values; "" where they are: they differ in the seed alone, and in what
// changes neither a number nor a time.
std::string apart_text(const RunRecord& a, const RunRecord& b) {
  const auto both = [](const char* key, const std::string& x, const std::string& y) { return std::string(key) + ": " + x + " against " + y; };
  if (processor_text(a) != processor_text(b)) return both("system.nodes", processor_text(a), processor_text(b));
  const std::string ranks_a = text_at(a.system, "world_size"), ranks_b = text_at(b.system, "world_size");
  if (ranks_a != ranks_b) return both("system.world_size", ranks_a, ranks_b);
  if (commit_text(a) != commit_text(b)) return both("provenance.commit", commit_text(a), commit_text(b));
  const std::string data_a = text_at(a.data, "train_sha256"), data_b = text_at(b.data, "train_sha256");
  if (data_a != data_b) return both("data.train_sha256", data_a, data_b);
  if (a.recipe.name != b.recipe.name) return both("recipe.name", a.recipe.name, b.recipe.name);
  const auto settings = differences(a, b, {"seed"});
  return settings.empty() ? "" : settings.front().text;
}

// Each in the order of its runs' times, and so are the groups.
using Group = std::vector<const NamedRun*>;
std::vector<Group> groups_of(const std::vector<NamedRun>& runs) {
  Group attempts;
  for (const NamedRun& r : runs)
    if (r.record.kind == "time_to_target" && is_attempt(r.record.verdict)) attempts.push_back(&r);
  std::sort(attempts.begin(), attempts.end(), [](const NamedRun* a, const NamedRun* b) {
    return std::pair(start_to_stop(a->record), a->name) < std::pair(start_to_stop(b->record), b->name);
  });
  std::vector<Group> groups;
  for (const NamedRun* r : attempts) {
    const auto own = std::find_if(groups.begin(), groups.end(), [&](const Group& g) { return apart_text(g.front()->record, r->record).empty(); });
    if (own != groups.end()) own->push_back(r);
    else groups.push_back({r});
  }
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
  // One set of runs is in both means: that of MLPerf's clock, by which the group is in order.
  const double clock_mean = olympic_mean(clock), whole_mean = sum({whole.begin() + 1, whole.end() - 1}) / static_cast<double>(whole.size() - 2);
  const auto add = [&](Label name, auto&& value) { t.add(name, {time_cell(value(clock)), time_cell(value(whole))}); };
  const auto least = [](const std::vector<double>& v) { return *std::min_element(v.begin(), v.end()); };
  const auto most = [](const std::vector<double>& v) { return *std::max_element(v.begin(), v.end()); };
  t.add("Olympic mean", {time_cell(clock_mean), time_cell(whole_mean)});
  add("median", [](const std::vector<double>& v) { return quantile(v, 0.5); });
  add("fastest", least);
  add("slowest", most);
  const auto range = [&](const std::vector<double>& v, double mean) {
    const double s = (most(v) - least(v)) / mean;
    return std::isinf(s) ? Cell("-") : percent(s);
  };
  t.add("spread", {range(clock, clock_mean), range(whole, whole_mean)});
  return t;
}

// Why a group has no score; of too few runs also what tells it from the largest of the other groups.
std::string refusal(const Group& group, const std::vector<Group>& all) {
  if (group.size() < kRuns) {
    const Group* other = nullptr;
    for (const Group& g : all)
      if (&g != &group && (!other || g.size() > other->size())) other = &g;
    const std::string needs = "No score: the Olympic mean needs " + std::to_string(kRuns) + " runs of one system and recipe, here are " + std::to_string(group.size()) +
                              ". Name the others too.";
    if (!other) return needs;
    const NamedRun &a = *group.front(), &b = *other->front();
    return needs + " '" + a.name + "' and '" + b.name + "' are no repetitions of each other: " + apart_text(a.record, b.record) + ".";
  }
  return "No score: " + std::to_string(never(group)) + " of " + std::to_string(group.size()) + " runs did not reach the target, and only one may be dropped as the slowest.";
}

}  // namespace

bool has_score(const std::vector<NamedRun>& runs) {
  const auto groups = groups_of(runs);
  return std::any_of(groups.begin(), groups.end(), scored);
}

Document score(const std::vector<NamedRun>& runs) {
  Document d;
  const std::vector<Group> groups = groups_of(runs);
  for (const Group& group : groups) {
    const RunRecord& first = group.front()->record;
    d.push_back(Heading{system_text(first) + ", recipe " + first.recipe.name + ", commit " + commit_text(first)});
    if (scored(group))
      d.push_back(score_of(group));
    else
      d.push_back(Paragraph{refusal(group, groups)});
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
