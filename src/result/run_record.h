// The record of one run: facts and raw samples, no statistics. results/schema-v1.json is the same as JSON Schema.
//
// Units are in the names: _s seconds, _bytes bytes. Every number is finite; what is unknown is absent.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "result/check.h"
#include "result/checkpoint_record.h"
#include "result/comparison.h"
#include "result/event_log.h"
#include "result/metrics.h"
#include "result/peak.h"
#include "result/telemetry_record.h"
#include "result/trace_record.h"
#include "settings/json.h"

namespace ttt::result {

// Raised when a key changes its meaning or goes; a new key alone does not raise it.
inline constexpr int kSchemaVersion = 1;

// Only `passed` may enter a performance table; the others appear there as what they are.
enum class Verdict { kPassed, kIncorrect, kFailed, kNotConverged, kNotSupported, kNotRun, kSmoke };

std::string_view verdict_name(Verdict verdict);      // "passed", "not_converged", ...
std::string verdict_title(Verdict verdict);          // "PASSED", "NOT CONVERGED", ...
Verdict verdict_from_name(const std::string& name);  // throws DataError on another word
int verdict_exit_code(Verdict verdict);              // 0 for passed, smoke and not_run

struct Evaluation {
  std::int64_t epoch = 0;   // epochs finished
  std::int64_t step = 0;    // steps finished
  std::int64_t images = 0;  // training images seen by all ranks
  double wall_s = 0;        // from the start of the run to the end of this evaluation
  double duration_s = 0;    // time for which training stood still
  Metrics metrics;
};

// Where a step's time goes. `other` is what the rest leaves of step_s.
inline constexpr std::array<std::string_view, 6> kPhaseNames = {
    "data_wait", "forward", "backward", "comm_exposed", "optimizer", "other"};

struct StepSample {
  std::int64_t step = 0;    // from 0
  std::int64_t images = 0;  // images of this step on all ranks
  double step_s = 0;        // this rank's time from one batch to the next, evaluation left out
  std::array<double, kPhaseNames.size()> phase_s{};
  std::vector<double> loss;  // in the order of StepSeries::loss_names
  double learning_rate = 0;
};

// Samples of all steps as columns of equal length. Losses and times are this rank's until reduce_over_ranks().
struct StepSeries {
  std::vector<std::int64_t> step, images;
  std::vector<double> step_s, learning_rate;
  std::array<std::vector<double>, kPhaseNames.size()> phase_s;
  std::vector<std::string> loss_names;    // the workload's
  std::vector<std::vector<double>> loss;  // a column for each name
  // How each was made of the ranks' values: "local" (this rank's alone), "max" or "mean".
  std::string step_ranks = "local", phase_ranks = "local", loss_ranks = "local";

  std::size_t size() const { return step.size(); }
  // Columns in this order; those that are there keep their values. Throws DataError where other losses are there.
  void name_losses(const std::vector<std::string>& names);
  void add(const StepSample& sample);        // throws Error where it has another number of losses
  StepSeries from(std::size_t first) const;  // the samples from that one on
  void append(StepSeries later);             // keeps its own words for how the samples were made of the ranks' values
  void truncate(std::size_t size);
  StepSample at(std::size_t i) const;
};

// visit(name, column) for each: "step", "images", "step_s", "learning_rate", "phase_s.forward", ..., "loss.mask".
template <class Series, class Visit> void for_each_column(Series& s, Visit&& visit) {
  visit("step", s.step), visit("images", s.images), visit("step_s", s.step_s), visit("learning_rate", s.learning_rate);
  for (std::size_t i = 0; i < kPhaseNames.size(); ++i) visit("phase_s." + std::string(kPhaseNames[i]), s.phase_s[i]);
  for (std::size_t i = 0; i < s.loss_names.size(); ++i) visit("loss." + s.loss_names[i], s.loss[i]);
}

// Collective: step times become the slowest rank's; phases and losses the mean over ranks, so that the phases of a step
// add up. `max` and `sum` reduce (double* data, std::size_t count) in place over all ranks.
template <class Max, class Sum> void reduce_over_ranks(StepSeries& s, int world_size, Max&& max, Sum&& sum) {
  const auto mean = [&](std::vector<double>& v) {
    sum(v.data(), v.size());
    for (double& x : v) x /= world_size;
  };
  max(s.step_s.data(), s.step_s.size());
  for (auto& v : s.phase_s) mean(v);
  for (auto& v : s.loss) mean(v);
  s.step_ranks = "max";
  s.phase_ranks = s.loss_ranks = "mean";
}

// Durations on rank 0's monotonic clock. Of a run that was interrupted and was resumed, all count from its very first
// start, and the calendar's clock tells what passed in between.
struct Clocks {
  double total_s = 0;  // start of the process to the writing of the result
  double init_s = 0;   // start of the process to the start of the run
  double run_s = 0;    // start of the run to its end, with evaluation: what "time to target" counts
  double train_s = 0;  // run_s without evaluation and lost_s
  double lost_s = 0;   // of run_s: from checkpoints that a run resumed from to its resumption
};

// The settings as they were resolved.
struct RecipeRecord {
  std::string name;                // of the recipe: a file's name or "default"
  Json settings = Json::object();  // fields_json()
  Json changes = Json::array();    // fields_changed() against the program's defaults
  std::string sha256;              // fields_sha256()
};

// A number that was not finite cannot be a JSON number; it is kept here in words.
struct NonFinite {
  std::int64_t step = 0;
  std::string name;   // "loss.mask"
  std::string value;  // "nan", "inf", "-inf"
};

struct RunRecord {
  std::string kind = "time_to_target";
  std::string run_id;  // the same on all ranks of a run
  Verdict verdict = Verdict::kNotRun;
  std::string reason;
  std::optional<Metrics> target;
  Json provenance = Json::object();  // result/provenance.h
  Json system = Json::object();      // result/system_info.h
  RecipeRecord recipe;
  Json built = Json::object();  // describe() of every part, by the part's name
  Json data = Json::object();   // "train_images", "eval_images" and what else names the data set
  Clocks clocks;
  std::optional<Interruption> interrupted;    // the run is to be resumed: nothing in this record is final
  std::vector<Resume> resumes;                // starts from a checkpoint, in their order
  std::vector<CheckpointSample> checkpoints;  // those whose writing had ended
  std::vector<Event> events;  // in the order of their time; the clocks of other benchmarks are derived from them
  Json mlperf;                // {"division", "log", "relaxed"} of a run with an MLPerf log, else null
  std::vector<Evaluation> accuracy;
  StepSeries steps;
  std::vector<Comparison> comparisons;      // of an ablation
  std::vector<ConvergenceRow> convergence;  // of an ablation that trains to a target
  std::vector<Peak> peaks;                  // of the machine, where they were measured
  std::vector<Check> checks;                // of a preflight
  std::optional<TraceRecord> trace;         // where train.trace_steps asked for it
  // What watched over the run found and cost, by its name: "replica_checks", "stragglers", "watchdog". Absent: nothing
  // watched.
  Json health = Json::object();
  std::vector<std::string> injected;         // faults that the user planted: then the run is no measurement
  std::optional<TelemetrySeries> telemetry;  // where train.telemetry.folder asked for it; of the rank that recorded
  std::vector<NonFinite> non_finite;
  std::vector<std::string> warnings;
};

Json to_json(const RunRecord& record);
// Throws DataError naming the key that is missing or has the wrong type, and for another schema version.
RunRecord run_record_from_json(const Json& document);

Json evaluation_json(const Evaluation& evaluation);
Evaluation evaluation_from_json(const Json& object, const std::string& path);
Json step_json(const StepSample& sample);
StepSample step_from_json(const Json& object, const std::string& path);

}  // namespace ttt::result
