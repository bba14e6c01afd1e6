#include "reports/accuracy.h"

#include <algorithm>
#include <optional>

#include "core/statistics.h"
#include "reports/command_line.h"
#include "reports/groups.h"
#include "reports/numbers.h"
#include "reports/run_metrics.h"
#include "reports/run_names.h"

namespace ttt::reports {
namespace {

using result::Evaluation;
using result::RunRecord;

// When something was reached.
struct Moment {
  double epochs = 0, wall_s = 0;
};

// A metric and its threshold.
struct Condition {
  std::string metric;
  double threshold = 0;
  double margin(const Evaluation& e) const {  // reached where not negative
    const double* value = result::find(e.metrics, metric);
    return value ? *value - threshold : -1;
  }
};

// What one evaluation must meet in all its conditions.
struct Goal {
  std::string name;
  std::vector<Condition> conditions;
  bool met(const Evaluation& e) const {
    return std::all_of(conditions.begin(), conditions.end(), [&](const Condition& c) { return c.margin(e) >= 0; });
  }
};

// Where between an evaluation that did not meet the goal and the next, which did, the last AP crosses its threshold,
// each on its own line: 0 to 1.
double crossing(const Goal& goal, const Evaluation& before, const Evaluation& here) {
  double last = 0;
  for (const Condition& c : goal.conditions)
    if (const double from = c.margin(before); from < 0) last = std::max(last, -from / (c.margin(here) - from));
  return last;
}

std::optional<Moment> reached(const RunRecord& r, const Goal& goal, bool interpolate) {
  const Evaluation* before = nullptr;
  for (const Evaluation& e : r.accuracy) {
    if (goal.met(e)) {
      const Moment here{epochs_of(r, e), e.wall_s};
      if (!interpolate || !before) return here;  // nothing is known before the first evaluation
      const double part = crossing(goal, *before, e);
      const Moment from{epochs_of(r, *before), before->wall_s};
      return Moment{from.epochs + part * (here.epochs - from.epochs), from.wall_s + part * (here.wall_s - from.wall_s)};
    }
    before = &e;
  }
  return std::nullopt;
}

std::vector<Goal> goals(const NamedRun& first, const std::vector<double>& thresholds) {
  std::vector<Goal> all;
  for (const double t : thresholds)
    for (const std::string& name : headline_metrics(first.record))
      all.push_back({result::metric_title(name) + fixed(" %.3f", t), {{name, t}}});
  if (const auto target = first.record.target) {
    Goal goal{"target: " + result::metrics_text(*target, 3), {}};
    for (const result::Metric& m : *target) goal.conditions.push_back({m.name, m.value});
    all.push_back(std::move(goal));
  }
  return all;
}

// Which bounds of the target an evaluation meets: "all", or their titles.
std::string reached_text(const result::Metrics& metrics, const result::Metrics& target) {
  if (!target.empty() && result::reached(metrics, target)) return "all";
  std::string met;
  for (const result::Metric& m : target)
    if (result::reached(metrics, {m})) met += (met.empty() ? "" : ", ") + result::metric_title(m.name);
  return met;
}

Table evaluations(const RunRecord& r) {
  Table t{.header = {"epoch", "epochs", "images", "wall"}};
  const std::vector<std::string> names = headline_metrics(r);
  for (const std::string& name : names) t.header.add_data(result::metric_title(name));
  t.right.assign(t.header.names().size(), true);
  t.header.add("reached");
  for (const Evaluation& e : r.accuracy) {
    Row& row = t.rows.emplace_back(Row{whole(e.epoch), number("%.2f", epochs_of(r, e)), whole(e.images),
        Cell(fixed("%.1f s", e.wall_s), e.wall_s, "s")});
    for (const std::string& name : names) row.push_back(metric_cell("%.4f", e, name));
    row.push_back(reached_text(e.metrics, r.target.value_or(result::Metrics())));
  }
  return t;
}

// One row for each goal: when each run reached it, or of several runs how these moments are distributed.
Table first_reached(const std::vector<const NamedRun*>& runs, const std::vector<Goal>& all, bool interpolate) {
  Table t{.header = {"goal", "reached", "epochs: least", "epochs: median", "epochs: most", "wall: least",
              "wall: median", "wall: most"},
      .right = {false, true, true, true, true, true, true, true}};
  for (const Goal& goal : all) {
    std::vector<double> epochs, wall_s;
    for (const NamedRun* run : runs)
      if (const auto moment = reached(run->record, goal, interpolate))
        epochs.push_back(moment->epochs), wall_s.push_back(moment->wall_s);
    Row row = {goal.name, std::to_string(epochs.size()) + " of " + std::to_string(runs.size())};
    const auto add = [&](const std::vector<double>& values, const char* form, const char* unit) {
      for (const double q : {0.0, 0.5, 1.0}) {
        const double x = values.empty() ? 0 : quantile(values, q);
        row.push_back(values.empty() ? Cell("-") : Cell(fixed(form, x), x, unit));
      }
    };
    add(epochs, "%.2f", ""), add(wall_s, "%.1f s", "s");
    t.rows.push_back(std::move(row));
  }
  return t;
}

// In what seeds of one experiment may differ: threads change times, and AP by rounding alone.
const std::vector<std::string> kMayDiffer = {"seed", "train.threads"};

// Runs that are seeds of one experiment: the same settings but these, the same ranks and data.
std::vector<std::vector<const NamedRun*>> experiments(const std::vector<NamedRun>& runs) {
  std::vector<std::vector<const NamedRun*>> groups;
  const auto same = [](const NamedRun& a, const NamedRun& b) {
    return differences(a.record, b.record, kMayDiffer).empty() && ranks_of(a.record) == ranks_of(b.record) &&
           text_at(a.record.data, "train_sha256") == text_at(b.record.data, "train_sha256");
  };
  for (const NamedRun& run : runs) {
    const auto it = std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return same(*g.front(), run); });
    if (it != groups.end()) it->push_back(&run);
    else groups.push_back({&run});
  }
  return groups;
}

// Why the runs of this group are not those of the first.
std::string apart_text(const NamedRun& first, const NamedRun& run) {
  const auto d = differences(first.record, run.record, kMayDiffer);
  if (!d.empty()) return d.front().text();
  if (ranks_of(first.record) != ranks_of(run.record))
    return text_at(first.record.system, "world_size") + " against " + text_at(run.record.system, "world_size") +
           " ranks";
  return "other training data";
}

}  // namespace

Document accuracy(const std::vector<NamedRun>& runs, const AccuracyOptions& options) {
  Document d;
  for (const NamedRun& run : runs) {
    d.push_back(Heading{
        run.name + ": " + std::string(result::verdict_name(run.record.verdict)) + " on " + machine_text(run.record)});
    if (run.record.accuracy.empty()) d.push_back(Paragraph{"No evaluation took place."});
    else d.push_back(evaluations(run.record));
  }
  const auto groups = experiments(runs);
  for (const auto& group : groups) {
    const std::vector<Goal> all = goals(*group.front(), options.thresholds);
    if (all.empty()) continue;
    std::string title = group.size() == 1 ? "When " + group.front()->name + " got there"
                                          : "When " + std::to_string(group.size()) + " runs of one recipe got there";
    if (group.front() != groups.front().front())
      title += " (" + apart_text(*groups.front().front(), *group.front()) + ")";
    d.push_back(Heading{title});
    d.push_back(
        Paragraph{options.interpolate
                      ? "On a straight line between the evaluations before and after; not before the first evaluation."
                      : "The first evaluation that was at or above it: later than it happened, by less than the time "
                        "between evaluations."});
    d.push_back(first_reached(group, all, options.interpolate));
  }
  return d;
}

static std::function<int()> declare_accuracy(CLI::App& command) {
  struct Arguments : FilesArguments {
    AccuracyOptions options;
  };
  const auto a = std::make_shared<Arguments>();
  add_files(command, *a, "Result files of runs; seeds of one recipe are taken together");
  command
      .add_option("--ap", a->options.thresholds,
          "AP (0 to 1) whose first reaching is asked for, beside the target; repeat it for several")
      ->allow_extra_args(false)
      ->check(CLI::Range(0.0, 1.0));
  command.add_flag("--interpolate", a->options.interpolate,
      "Take AP as a straight line between evaluations; by default the first evaluation that reached it counts");
  add_output_options(command, a->output);
  command.footer("Example: report accuracy seed*.json --ap 0.3 --interpolate");
  return [a] {
    const Runs all = read_runs(*a);
    if (!all.runs.empty()) print(accuracy(all.runs, a->options), a->output);
    return all.exit_code;
  };
}

const Command kAccuracy = {"accuracy",
    "AP at every evaluation, and when thresholds were reached: over epochs and time, over several seeds",
    declare_accuracy};

}  // namespace ttt::reports
