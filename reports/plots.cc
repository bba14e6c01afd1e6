#include "reports/plots.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/statistics.h"
#include "reports/numbers.h"
#include "reports/run_metrics.h"
#include "reports/run_names.h"
#include "reports/series.h"

namespace ttt::reports {
namespace {

using result::Evaluation;
using result::Json;
using result::RunRecord;

constexpr std::size_t kBins = 40;

// One metric against time or against epochs.
Json accuracy_plot(const std::vector<NamedRun>& runs, const std::string& metric, bool by_epoch) {
  const std::string name = result::metric_title(metric);
  Json series = Json::array(), lines = Json::array();
  std::set<double> targets;
  for (const NamedRun& r : runs) {
    Json points = Json::array();
    for (const Evaluation& e : r.record.accuracy)
      if (const double* value = result::find(e.metrics, metric); value && *value >= 0)
        points.push_back({by_epoch ? epochs_of(r.record, e) : e.wall_s, *value});
    if (!points.empty()) series.push_back({{"name", r.name}, {"points", points}});
    if (r.record.target)
      if (const double* least = result::find(*r.record.target, result::target_name(metric))) targets.insert(*least);
  }
  if (series.empty()) return nullptr;
  for (const double target : targets) lines.push_back({{"name", fixed("target %.2f", target)}, {"y", target}});
  return {{"kind", "curve"}, {"title", name + (by_epoch ? " over epochs" : " over time")},
      {"x", by_epoch ? "epochs" : "time since the start of the run [s]"}, {"y", name},
      {"about",
          "One line for each run, one point for each evaluation. The numbers are in the reports of the runs below."},
      {"whole", by_epoch}, {"series", series}, {"lines", lines}};
}

std::vector<double> log_edges(double low, double high) {
  std::vector<double> edges;
  for (std::size_t i = 0; i <= kBins; ++i) edges.push_back(low * std::pow(high / low, static_cast<double>(i) / kBins));
  edges.front() = low, edges.back() = high;  // without the rounding of pow
  return edges;
}

// The share of steps in each bin, a row for each run; bins are those of all runs together.
Json distribution(const std::vector<NamedRun>& runs) {
  std::vector<std::pair<std::string, std::vector<double>>> all;
  std::vector<double> every;
  for (const NamedRun& r : runs) {
    std::vector<double> ms;
    for (const double s : r.record.steps.step_s)
      if (s > 0) ms.push_back(1e3 * s);
    every.insert(every.end(), ms.begin(), ms.end());
    if (!ms.empty()) all.emplace_back(r.name, std::move(ms));
  }
  if (all.empty()) return nullptr;
  const auto ends = std::minmax_element(every.begin(), every.end());
  double low = *ends.first, high = *ends.second;
  if (!(high > low)) low *= 0.99, high *= 1.01;  // all alike: one bin around them
  const std::vector<double> edges = log_edges(low, high);
  Json rows = Json::array();
  for (const auto& [name, ms] : all)
    rows.push_back({{"name", name}, {"median", median(ms)}, {"median_text", fixed("%.1f ms", median(ms))},
        {"shares", histogram(ms, edges)}});
  return {{"kind", "violin"}, {"title", "Distribution of step times"}, {"x", "time of a step [ms] (log)"},
      {"about", "One row for each run: its width is the share of the steps that took so long, the line their median."},
      {"edges", edges}, {"rows", rows}};
}

// Rows of a stack and one series for each name that any row has; a row without it has a gap, not a zero.
struct Stack {
  std::vector<std::string> rows, ends, names;  // ends: texts beside the bars
  std::vector<std::map<std::string, double>> values;

  void add(const std::string& row, const std::string& end, const std::vector<std::pair<std::string, double>>& parts) {
    rows.push_back(row);
    ends.push_back(end);
    values.emplace_back();
    for (const auto& [name, value] : parts) {
      values.back()[name] = value;
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  Json json(const std::string& title, const std::string& x, const std::string& about) const {
    if (rows.empty()) return nullptr;
    Json series = Json::array();
    for (const std::string& name : names) {
      Json column = Json::array();
      for (const auto& row : values) column.push_back(row.contains(name) ? Json(row.at(name)) : Json());
      series.push_back({{"name", name}, {"values", column}});
    }
    return {{"kind", "stack"}, {"title", title}, {"x", x}, {"about", about}, {"rows", rows}, {"ends", ends},
        {"series", series}};
  }
};

std::vector<Json> present(std::vector<Json> plots) {
  std::erase_if(plots, [](const Json& p) { return p.is_null(); });
  return plots;
}

}  // namespace

std::vector<double> histogram(const std::vector<double>& samples, const std::vector<double>& edges) {
  std::vector<double> shares(edges.size() - 1, 0.0);
  for (const double x : samples) {
    const auto above = static_cast<std::size_t>(std::upper_bound(edges.begin(), edges.end(), x) - edges.begin());
    shares[std::clamp<std::size_t>(above, 1, shares.size()) - 1] += 1;
  }
  for (double& s : shares) s *= 100.0 / static_cast<double>(samples.size());
  return shares;
}

std::vector<Json> accuracy_plots(const std::vector<NamedRun>& runs) {
  std::vector<std::string> metrics;
  for (const NamedRun& r : runs)
    for (const std::string& name : headline_metrics(r.record))
      if (std::find(metrics.begin(), metrics.end(), name) == metrics.end()) metrics.push_back(name);
  std::vector<Json> plots;
  for (const bool by_epoch : {false, true})
    for (const std::string& name : metrics) plots.push_back(accuracy_plot(runs, name, by_epoch));
  return present(std::move(plots));
}

std::vector<Json> time_plots(const std::vector<NamedRun>& runs) {
  Stack stack;
  for (const NamedRun& r : runs) {
    const TimeFactors f = time_factors(r.record);
    if (f.total_s <= 0 || r.record.verdict != result::Verdict::kPassed) continue;
    std::vector<std::pair<std::string, double>> parts = {{"training", f.training_s}, {"evaluation", f.evaluation_s},
        {"start-up", f.startup_s}, {"unaccounted", f.unaccounted_s}};
    if (f.checkpoint_s > 0) parts.emplace_back("checkpoints", f.checkpoint_s);
    if (f.lost_s > 0) parts.emplace_back("lost to interruptions", f.lost_s);
    const std::string epochs = f.epochs > 0 ? fixed(": %.3g epochs x %.1f s", f.epochs, f.epoch_s) : "";
    stack.add(r.name + epochs, fixed("%.1f s", f.time_to_target_s), parts);
  }
  return present({stack.json("Time to target by its factors", "time [s]",
      "The parts of the time to target of each run that passed; the numbers are in the table of all results.")});
}

std::vector<Json> step_plots(const std::vector<NamedRun>& runs) {
  Stack stack;
  for (const NamedRun& r : runs) {
    std::vector<std::pair<std::string, double>> parts;
    for (const PhaseShare& p : phase_shares(r.record)) parts.emplace_back(p.name, 100 * p.share);
    if (!parts.empty()) stack.add(r.name, "", parts);
  }
  return present(
      {distribution(runs), stack.json("Shares of the phases of a step", "share of the time of all steps [%]",
                               "The share of each phase in the time of all steps of a run; the numbers are in the "
                               "reports of the runs below.")});
}

std::vector<Json> published_plots(const std::map<std::string, Json>& published, const std::vector<NamedRun>& runs) {
  constexpr double kMinute_s = 60;
  using Line = std::map<double, double>;                         // fewest minutes by accelerators
  std::map<std::string, std::map<std::string, Line>> of_target;  // by name
  const auto keep_fastest = [](Line& line, double accelerators, double run_s) {
    const auto at = line.emplace(accelerators, run_s / kMinute_s).first;
    at->second = std::min(at->second, run_s / kMinute_s);
  };
  for (const auto& [file, document] : published) {
    if (!is_published(document) || !document.contains("target")) continue;
    const std::string target =
        result::metrics_text(result::metrics_from_json(document["target"], result::quote(file)), 3);
    // "MLPerf Training v3.0, Mask R-CNN"
    const auto title = result::get<std::string>(document, "published_results", file);
    for (const Series& s : series_of_published(document, file))
      for (const Attempt& a : s.attempts)
        if (s.accelerators && a.reached())
          keep_fastest(
              of_target[target][s.accelerator + ", " + title.substr(0, title.find(','))], *s.accelerators, a.run_s);
  }
  for (auto& [target, lines] : of_target) {
    std::erase_if(lines, [](const auto& line) { return line.second.size() < 2; });
    for (const NamedRun& r : runs)
      if (r.record.verdict == result::Verdict::kPassed && r.record.target &&
          result::metrics_text(*r.record.target, 3) == target)
        keep_fastest(lines[machine_text(r.record) + ", measured here"], static_cast<double>(ranks_of(r.record)),
            time_factors(r.record).time_to_target_s);
  }
  std::vector<Json> plots;
  for (const auto& [target, lines] : of_target) {
    Json series = Json::array();
    for (const auto& [name, line] : lines) {
      Json points = Json::array();
      for (const auto& [accelerators, minutes] : line) points.push_back({accelerators, minutes});
      series.push_back({{"name", name}, {"points", points}});
    }
    if (series.empty()) continue;
    plots.push_back({{"kind", "curve"}, {"title", "Published times to " + target}, {"x", "accelerators (log)"},
        {"y", "minutes (log)"},
        {"about", "The fastest run of each number of accelerators. report score prints all of results/published."},
        {"whole", false}, {"log", true}, {"series", series}, {"lines", Json::array()}});
  }
  return plots;
}

}  // namespace ttt::reports
