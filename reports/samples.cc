#include "reports/samples.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/error.h"
#include "core/nearest.h"
#include "core/statistics.h"
#include "reports/run_metrics.h"
#include "result/techniques.h"

namespace ttt::reports {
namespace {

using result::RunRecord;

template <double TimeFactors::*member> double factor(const RunRecord& r) { return time_factors(r).*member; }
double median_or_none(const std::vector<double>& values) { return values.empty() ? 0 : median(values); }

constexpr RunMetric kRunMetrics[] = {
    {.name = "epochs to target", .label = "epochs [to target]", .form = "%.2f", .value = factor<&TimeFactors::epochs>},
    {.name = "epochs to crossing", .label = "epochs to crossing", .form = "%.3f", .value = epochs_to_crossing},
    {.name = "time per epoch", .label = "x time per epoch [s]", .form = "%.3f", .value = factor<&TimeFactors::epoch_s>},
    {.name = "training", .label = "= training [s]", .form = "%.3f", .value = factor<&TimeFactors::training_s>},
    {.name = "evaluation", .label = "evaluation [s]", .form = "%.3f", .value = factor<&TimeFactors::evaluation_s>},
    {.name = "start-up", .label = "start-up [s]", .form = "%.3f", .value = factor<&TimeFactors::startup_s>},
    {.name = "time to target",
        .label = "time to target [s]",
        .form = "%.3f",
        .value = factor<&TimeFactors::time_to_target_s>},
    {.name = "time to crossing",
        .label = "time to crossing [s]",
        .form = "%.3f",
        .value = factor<&TimeFactors::time_to_crossing_s>},
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

}  // namespace

std::span<const RunMetric> run_metrics() { return kRunMetrics; }

std::vector<Baseline> baselines_of(const RunRecord& r) {
  std::vector<std::string> names;  // in the order of their appearance
  std::map<std::string, std::vector<const result::Comparison*>> by_name;
  for (const result::Comparison& c : r.comparisons) {
    if (c.status != "measured" || c.samples.size() == 0 || result::is_of_trainings(r, c)) continue;
    const std::string name = c.ablation + ": " + c.baseline + (c.setting.empty() ? "" : ", " + c.setting);
    if (by_name[name].empty()) names.push_back(name);
    by_name[name].push_back(&c);
  }
  std::vector<Baseline> out;
  for (const std::string& name : names) {
    const auto& comparisons = by_name[name];
    Baseline b{.ablation = comparisons[0]->ablation, .fullname = name, .whole_step = is_whole_step(*comparisons[0])};
    std::vector<double> samples;
    for (const result::Comparison* c : comparisons) {
      samples.insert(samples.end(), c->samples.baseline_s.begin(), c->samples.baseline_s.end());
      for (const auto& [phase, sides] : c->phases.items())
        b.phase_s[phase] += sides[0].get<double>() / static_cast<double>(comparisons.size());
    }
    b.median_s = median(samples);
    out.push_back(std::move(b));
  }
  return out;
}

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
  for (const Baseline& b : baselines_of(r))
    out.push_back({.metric = b.whole_step ? "baseline step" : "baseline operation",
        .label = std::string("time of a baseline's ") + (b.whole_step ? "step" : "operation") + " [ms]",
        .name = b.ablation,
        .fullname = b.fullname,
        .form = "%.4g",
        .value = 1e3 * b.median_s});
  return out;
}

void check_metric(const std::string& name, const std::vector<std::string>& metrics) {
  const std::set<std::string> known(metrics.begin(), metrics.end());
  if (known.contains(name)) return;
  std::string all;
  for (const std::string& metric : known) all += (all.empty() ? "" : ", ") + metric;
  throw UsageError("No run has the metric '" + name + "'." +
                   (known.empty() ? " Name results of runs that passed, of ablate or of roofline."
                                  : nearest_and(name, metrics, "there are: " + all + ".")));
}

}  // namespace ttt::reports
