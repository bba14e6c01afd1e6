#include "reports/run_metrics.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/statistics.h"
#include "reports/numbers.h"

namespace ttt::reports {

std::vector<std::string> headline_metrics(const result::RunRecord& r, std::size_t of_group) {
  std::vector<std::string> names;
  std::map<std::string, std::size_t> taken;
  for (const result::Evaluation& e : r.accuracy)
    for (const result::Metric& m : e.metrics) {
      if (std::find(names.begin(), names.end(), m.name) != names.end()) continue;
      const std::size_t dot = m.name.find('.');
      if (dot == std::string::npos || ++taken[m.name.substr(0, dot)] <= of_group) names.push_back(m.name);
    }
  return names;
}

std::string target_text(const result::Metrics& target) {
  std::string text;
  for (const result::Metric& m : target)
    text += (text.empty() ? "" : " and ") + result::metric_title(m.name) + fixed(" >= %.3f", m.value);
  return "Target: " + text + " in one evaluation.";
}

double epochs_to_crossing(const result::RunRecord& r) {
  const TimeFactors f = time_factors(r);
  return f.crossing ? f.crossing->epochs.estimate : 0;
}

std::string crossing_text(const result::Crossing& c) {
  const std::string met =
      result::metric_title(c.metric) + " met the target at " + fixed("%.2f epochs", c.epochs.estimate);
  if (!c.has_interval)
    return "Between the last evaluation below and the next one, " + met +
           ". An interval takes evaluations that are closer together: train.eval_near_every_epochs.";
  return "The trend of " + met + fixed(" (%.2f to %.2f, 95 %% interval), ", c.epochs.low, c.epochs.high) +
         fixed("through %d evaluations that scatter by %.3f.", c.evaluations, c.noise);
}

double epochs_of(const result::RunRecord& r, const result::Evaluation& e) {
  const double images = train_images_of(r);
  return images > 0 ? static_cast<double>(e.images) / images : static_cast<double>(e.epoch);
}

std::optional<double> stall_share(const result::RunRecord& r) {
  double stalls = 0, between = 0;
  for (std::size_t i = 0; i + 1 < r.checkpoints.size(); ++i) {
    const result::CheckpointSample &from = r.checkpoints[i], &to = r.checkpoints[i + 1];
    const bool interrupted = std::any_of(r.resumes.begin(), r.resumes.end(),
        [&](const result::Resume& x) { return x.step > from.step && x.step <= to.step; });
    if (!interrupted) stalls += from.stall_s, between += to.wall_s - from.wall_s;
  }
  if (between <= 0) return std::nullopt;
  return stalls / between;
}

std::vector<PhaseShare> phase_shares(const result::RunRecord& r) {
  std::vector<PhaseShare> shares;
  if (r.steps.size() == 0) return shares;
  const double all = sum(r.steps.step_s);
  double named = 0;
  for (std::size_t i = 0; i < result::kPhaseNames.size(); ++i) {
    const double phase = sum(r.steps.phase_s[i]);
    named += phase;
    shares.push_back({std::string(result::kPhaseNames[i]), median(r.steps.phase_s[i]), all > 0 ? phase / all : 0});
  }
  if (r.steps.step_ranks != "max" || r.steps.phase_ranks != "mean") return shares;
  std::vector<double> waits;
  for (std::size_t s = 0; s < r.steps.size(); ++s) {
    double mean = 0;
    for (const auto& phase : r.steps.phase_s) mean += phase[s];
    waits.push_back(r.steps.step_s[s] - mean);
  }
  shares.push_back({"slowest rank", median(waits), all > 0 ? (all - named) / all : 0});
  return shares;
}

Spread spread(const std::vector<double>& samples) {
  return {median(samples), quantile(samples, 0.05), quantile(samples, 0.95)};
}

std::vector<double> step_rates(const result::RunRecord& r) {
  std::vector<double> rates;
  for (std::size_t i = 0; i < r.steps.size(); ++i)
    if (r.steps.step_s[i] > 0) rates.push_back(static_cast<double>(r.steps.images[i]) / r.steps.step_s[i]);
  return rates;
}

}  // namespace ttt::reports
