// The numbers of a run that runs are compared by.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "reports/labels.h"
#include "result/run_record.h"

namespace ttt::reports {

enum class Better { kLower, kHigher };

// A number that every run to a target has.
struct RunMetric {
  const char* name;  // as --metric and the key .unit call it
  Label label;       // the same with its unit
  const char* form;  // printf's
  Better better = Better::kLower;
  bool of_steps =
      false;  // of any run with steps; the others are of runs that passed, which alone have a time to target
  double (*value)(const result::RunRecord&) = nullptr;  // 0 where it is not known
};
std::span<const RunMetric> run_metrics();

// What an ablation timed without its technique. Its variants and repetitions share it.
struct Baseline {
  std::string ablation, fullname;         // "reducer", "reducer: blocking, 4 images a rank"
  bool whole_step = true;                 // else one operation alone
  double median_s = 0;                    // of all samples
  std::map<std::string, double> phase_s;  // means
};
std::vector<Baseline> baselines_of(const result::RunRecord& record);

struct Sample {
  std::string metric, label;   // "time to target", "time to target [s]"
  std::string name, fullname;  // of an ablation's baseline: "reducer", "reducer: blocking"; else empty
  const char* form = "%.3f";
  Better better = Better::kLower;
  double value = 0;
};
// The run's metrics, the medians of its peaks, and of an ablation the median time of each baseline. Accuracy is that of
// the evaluation that reached the target, else of the last one.
std::vector<Sample> samples_of(const result::RunRecord& record);

// Throws UsageError that lists the metrics where `name` is none of them.
void check_metric(const std::string& name, const std::vector<std::string>& metrics);

}  // namespace ttt::reports
