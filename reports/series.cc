#include "reports/series.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/statistics.h"
#include "reports/groups.h"
#include "reports/run_metrics.h"
#include "reports/run_names.h"

namespace ttt::reports {
namespace {

using result::RunRecord;
using result::Verdict;

// MLPerf's clock: from the start of the run, data touched, to the end of the evaluation that reached the target.
Attempt attempt_of(const NamedRun& run) {
  const RunRecord& r = run.record;
  const TimeFactors f = time_factors(r);
  Attempt a{.name = run.name,
      .verdict = std::string(result::verdict_name(r.verdict)),
      .started = text_at(r.provenance, "started_at", "")};
  if (const auto seed = r.recipe.settings.find("seed"); seed != r.recipe.settings.end()) a.seed = seed->dump();
  if (f.epochs > 0) a.epochs = f.epochs;
  a.images_per_s = training_rate(r);
  const auto e = reaching_evaluation(r);
  if (r.verdict != Verdict::kPassed || !e) return a;
  a.run_s = e->wall_s;
  a.whole_s = f.time_to_target_s;
  a.rated_epochs = static_cast<double>(e->epoch);
  return a;
}

// The first key in which two runs are no repetitions of each other, with both values. "" where they are: they differ in
// the seed alone, and in what changes neither a number nor a time.
std::string apart_text(const RunRecord& a, const RunRecord& b) {
  const auto both = [](const char* key, const std::string& x, const std::string& y) {
    return std::string(key) + ": " + x + " against " + y;
  };
  if (machine_text(a) != machine_text(b)) return both("system.nodes", machine_text(a), machine_text(b));
  const std::string ranks_a = text_at(a.system, "world_size"), ranks_b = text_at(b.system, "world_size");
  if (ranks_a != ranks_b) return both("system.world_size", ranks_a, ranks_b);
  if (commit_text(a) != commit_text(b)) return both("provenance.commit", commit_text(a), commit_text(b));
  const std::string data_a = text_at(a.data, "train_sha256"), data_b = text_at(b.data, "train_sha256");
  if (data_a != data_b) return both("data.train_sha256", data_a, data_b);
  if (a.recipe.name != b.recipe.name) return both("recipe.name", a.recipe.name, b.recipe.name);
  const auto settings = differences(a, b, {"seed"});
  return settings.empty() ? "" : settings.front().text();
}

std::string why_no_reference(const RunRecord& r) {
  if (!r.mlperf || r.mlperf->division != "closed") return "it is no run of the closed division (mlperf.division)";
  std::string rules, before;
  for (const result::RelaxedRule& breach : r.mlperf->relaxed) {
    if (breach.rule != before) rules += (rules.empty() ? "" : ", ") + breach.rule;
    before = breach.rule;
  }
  return rules.empty() ? "" : "it breaks rules of the closed division that were relaxed by name: " + rules;
}

double fastest(const Series& s) {
  return std::min_element(s.attempts.begin(), s.attempts.end(), [](const Attempt& a, const Attempt& b) {
    return a.run_s < b.run_s;
  })->run_s;
}
void sort_series(std::vector<Series>& all) {
  for (Series& s : all) sort_by_time(s);
  std::sort(all.begin(), all.end(), [](const Series& a, const Series& b) {
    return std::pair(fastest(a), a.attempts[0].name) < std::pair(fastest(b), b.attempts[0].name);
  });
}

using Group = std::vector<const NamedRun*>;
std::vector<Group> groups_of(const std::vector<NamedRun>& runs) {
  std::vector<Group> groups;
  for (const NamedRun& r : runs) {
    if (!is_attempt(r.record)) continue;
    const auto own = std::find_if(
        groups.begin(), groups.end(), [&](const Group& g) { return apart_text(g.front()->record, r.record).empty(); });
    if (own != groups.end()) own->push_back(&r);
    else groups.push_back({&r});
  }
  // Whatever the order of the files: the same first run, and the same group to compare with.
  for (Group& g : groups)
    std::sort(g.begin(), g.end(), [](const NamedRun* a, const NamedRun* b) { return a->name < b->name; });
  std::sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) {
    return std::pair(b.size(), a.front()->name) < std::pair(a.size(), b.front()->name);
  });
  return groups;
}

// Of too few runs also what tells them from the largest of the other groups.
std::string apart_from_others(const Group& group, const std::vector<Group>& all) {
  const auto other = std::find_if(all.begin(), all.end(), [&](const Group& g) { return &g != &group; });
  if (other == all.end()) return too_few_text(group.size());
  const NamedRun &a = *group.front(), &b = *other->front();
  return too_few_text(group.size()) + " '" + a.name + "' and '" + b.name +
         "' are no repetitions of each other: " + apart_text(a.record, b.record) + ".";
}

}  // namespace

// A run that ended without its target says how long the target takes: longer. One that was shortened or not made says
// nothing.
bool is_attempt(const RunRecord& r) {
  const Verdict v = r.verdict;
  return r.kind == "time_to_target" &&
         (v == Verdict::kPassed || v == Verdict::kNotConverged || v == Verdict::kFailed || v == Verdict::kIncorrect);
}

std::string too_few_text(std::size_t runs) {
  return "No score: the Olympic mean needs " + std::to_string(kScoredRuns) +
         " runs of one system and recipe, here are " + std::to_string(runs) + ". Name the others too.";
}

void sort_by_time(Series& series) {
  std::sort(series.attempts.begin(), series.attempts.end(),
      [](const Attempt& a, const Attempt& b) { return std::pair(a.started, a.name) < std::pair(b.started, b.name); });
}

std::vector<Series> series_of_runs(const std::vector<NamedRun>& runs) {
  std::vector<Series> all;
  const std::vector<Group> groups = groups_of(runs);
  for (const Group& group : groups) {
    const RunRecord& first = group.front()->record;
    Series s{.title = system_text(first) + ", recipe " + first.recipe.name + ", commit " + commit_text(first),
        .system = system_text(first)};
    if (const std::int64_t batch = global_batch_of(first); batch > 0) s.global_batch = static_cast<double>(batch);
    if (group.size() < kScoredRuns) s.too_few = apart_from_others(group, groups);
    for (const NamedRun* r : group) {
      s.attempts.push_back(attempt_of(*r));
      if (s.no_reference.empty()) s.no_reference = why_no_reference(r->record);
    }
    all.push_back(std::move(s));
  }
  sort_series(all);
  return all;
}

bool Window::counts(std::size_t i) const {
  return i >= begin && i < begin + kScoredRuns && i != fastest && i != slowest;
}

std::optional<Window> score_window(const Series& series) {
  std::vector<Window> windows;
  for (std::size_t begin = 0; begin + kScoredRuns <= series.attempts.size(); ++begin) {
    std::vector<double> times;
    for (std::size_t i = 0; i < kScoredRuns; ++i) times.push_back(series.attempts[begin + i].run_s);
    windows.push_back({.begin = begin,
        .mean_s = olympic_mean(times),
        .fastest = begin + static_cast<std::size_t>(std::min_element(times.begin(), times.end()) - times.begin()),
        .slowest = begin + static_cast<std::size_t>(
                               std::max_element(times.rbegin(), times.rend()).base() - times.begin() - 1)});
  }
  if (windows.empty()) return std::nullopt;
  std::stable_sort(
      windows.begin(), windows.end(), [](const Window& a, const Window& b) { return a.mean_s < b.mean_s; });
  const Window& middle = windows[windows.size() / 2];
  if (std::isinf(middle.mean_s)) return std::nullopt;
  return middle;
}

}  // namespace ttt::reports
