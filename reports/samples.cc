#include "reports/samples.h"

#include <algorithm>
#include <map>

#include "core/error.h"
#include "core/nearest.h"
#include "core/statistics.h"
#include "reports/run_metrics.h"

namespace ttt::reports {
namespace {

using result::RunRecord;

template <double TimeFactors::*member> double factor(const RunRecord& r) { return time_factors(r).*member; }
double median_or_none(const std::vector<double>& values) { return values.empty() ? 0 : median(values); }

constexpr RunMetric kRunMetrics[] = {
    {.name = "epochs to target", .label = "epochs [to target]", .form = "%.2f", .value = factor<&TimeFactors::epochs>},
    {.name = "time per epoch", .label = "x time per epoch [s]", .form = "%.3f", .value = factor<&TimeFactors::epoch_s>},
    {.name = "training", .label = "= training [s]", .form = "%.3f", .value = factor<&TimeFactors::training_s>},
    {.name = "evaluation", .label = "evaluation [s]", .form = "%.3f", .value = factor<&TimeFactors::evaluation_s>},
    {.name = "start-up", .label = "start-up [s]", .form = "%.3f", .value = factor<&TimeFactors::startup_s>},
    {.name = "time to target",
        .label = "time to target [s]",
        .form = "%.3f",
        .value = factor<&TimeFactors::time_to_target_s>},
    {.name = "images/s",
        .label = "images/s of a step, median",
        .form = "%.2f",
        .better = Better::kHigher,
        .of_steps = true,
        .value = [](const RunRecord& r) { return median_or_none(step_rates(r)); }},
    {.name = "step time",
        .label = "time of a step, median [ms]",
        .form = "%.2f",
        .of_steps = true,
        .value = [](const RunRecord& r) { return 1e3 * median_or_none(r.steps.step_s); }},
};

// Repetitions of one comparison are one sample.
void add_baselines(const RunRecord& r, std::vector<Sample>& out) {
  std::map<std::string, std::vector<double>> times;
  std::vector<Sample> samples;
  for (const result::Comparison& c : r.comparisons) {
    if (c.status != "measured" || c.samples.size() == 0) continue;
    const std::string fullname = c.ablation + ": " + c.variant + (c.setting.empty() ? "" : ", " + c.setting);
    std::vector<double>& of_name = times[fullname];
    if (of_name.empty())
      samples.push_back({.metric = "baseline step",
          .label = "time of a baseline's step [ms]",
          .name = c.ablation,
          .fullname = fullname,
          .form = "%.4g"});
    of_name.push_back(1e3 * median(c.samples.baseline_s));
  }
  for (Sample& s : samples) s.value = median(times[s.fullname]), out.push_back(std::move(s));
}

}  // namespace

std::span<const RunMetric> run_metrics() { return kRunMetrics; }

std::vector<Sample> samples_of(const RunRecord& r) {
  std::vector<Sample> out;
  const bool to_target = r.kind == "time_to_target";
  for (const RunMetric& m : kRunMetrics)
    if (to_target && (m.of_steps || r.verdict == result::Verdict::kPassed))
      if (const double value = m.value(r); value > 0)
        out.push_back({.metric = m.name,
            .label = std::string(m.label.text()),
            .form = m.form,
            .better = m.better,
            .value = value});
  if (to_target && !r.accuracy.empty()) {
    const result::Evaluation end = reaching_evaluation(r).value_or(r.accuracy.back());
    for (const std::string& name : headline_metrics(r))
      if (const double* value = result::find(end.metrics, name); value && *value > 0)
        out.push_back({.metric = result::metric_title(name),
            .label = result::metric_title(name),
            .form = "%.4f",
            .better = Better::kHigher,
            .value = *value});
  }
  for (const result::Peak& p : r.peaks)
    if (!p.samples.empty())
      out.push_back({.metric = "peak " + p.name,
          .label = "peak " + p.name + " [" + p.unit + "]",
          .form = "%.4g",
          .better = Better::kHigher,
          .value = median(p.samples)});
  add_baselines(r, out);
  return out;
}

void check_metric(const std::string& name, const std::vector<Sample>& samples) {
  std::vector<std::string> names;
  for (const Sample& s : samples) names.push_back(s.metric);
  if (std::find(names.begin(), names.end(), name) != names.end()) return;
  throw UsageError("No run has the metric '" + name + "'." +
                   (names.empty() ? "" : " The nearest is '" + nearest(name, names) + "'."));
}

}  // namespace ttt::reports
