// The record of one run: facts and raw samples, no statistics. results/schema-v1.json is the same as JSON Schema.
//
// Units are in the names: _s seconds, _bytes bytes. Every number is finite; what is unknown is absent.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "result/batch_ladder.h"
#include "result/check.h"
#include "result/checkpoint_record.h"
#include "result/comparison.h"
#include "result/event_log.h"
#include "result/health_record.h"
#include "result/peak.h"
#include "result/provenance.h"
#include "result/record_fields.h"
#include "result/system_info.h"
#include "result/telemetry_record.h"
#include "result/trace_record.h"

namespace ttt::result {

// Raised when a key changes its meaning or goes; a new key alone does not raise it.
inline constexpr int kSchemaVersion = 1;

// Only `passed` may enter a performance table; the others appear there as what they are.
enum class Verdict { kPassed, kIncorrect, kFailed, kNotConverged, kNotSupported, kNotRun, kSmoke };

using VerdictWord = std::pair<Verdict, std::string_view>;
std::span<const VerdictWord> words_of(Verdict);
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

  template <class Self, class Visitor> static void fields(Self& e, Visitor&& v) {
    v("epoch", e.epoch, "epochs finished", at_least(0));
    v("step", e.step, "steps finished", at_least(0));
    v("images", e.images, "training images seen by all ranks", at_least(0));
    v("wall_s", e.wall_s, "from the start of the run to the end of this evaluation", at_least(0));
    v("duration_s", e.duration_s, "for which training stood still", at_least(0));
    v.rest(e.metrics, "accuracy, by the workload's names; of COCO -1 where the ground truth has no such object");
  }
};

// Of the last weights, off the clock, on images of the generator that no other seed has.
struct FreshEvaluation {
  std::int64_t images = 0, generator_seed = 0;
  Metrics metrics;

  template <class Self, class Visitor> static void fields(Self& f, Visitor&& v) {
    v("images", f.images, "", at_least(1));
    v("generator_seed", f.generator_seed, "that they were generated with", at_least(0));
    v("metrics", f.metrics, "as of an evaluation");
  }
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

  template <class Self, class Visitor> static void fields(Self& s, Visitor&& v) {  // of a journal
    v("step", s.step, ""), v("images", s.images, ""), v("step_s", s.step_s, "");
    v("phase_s", s.phase_s, ""), v("loss", s.loss, ""), v("lr", s.learning_rate, "");
  }
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

  template <class Self, class Visitor> static void fields(Self& s, Visitor&& v) {
    const Limits ranks = one_of({"local", "max", "mean"});
    v("step", s.step, "from 0", at_least(0));
    v("images", s.images, "of the step, on all ranks", at_least(0));
    v.group("step_s", "from one batch to the next, evaluation left out", [&](auto&& times) {
      times("ranks", s.step_ranks, "how it was made of the ranks' values", ranks);
      times("values", s.step_s, "", at_least(0));
    });
    v.group("phase_s", "where the step's time goes; the phases add up to it", [&](auto&& times) {
      times("ranks", s.phase_ranks, "", ranks);
      times.group("values", "", [&](auto&& phase) {
        for (std::size_t i = 0; i < kPhaseNames.size(); ++i)
          phase(std::string(kPhaseNames[i]), s.phase_s[i], "", at_least(0));
      });
    });
    v.group("loss", "", [&](auto&& losses) {
      losses("ranks", s.loss_ranks, "", ranks);
      losses.columns("values", s.loss_names, s.loss, "by the workload's names");
    });
    v("learning_rate", s.learning_rate, "");
  }
  static void check(const StepSeries& steps, const std::string& path);  // throws DataError for columns of two lengths
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

  template <class Self, class Visitor> static void fields(Self& c, Visitor&& v) {
    v("total_s", c.total_s, "start of the process to the writing of the result", at_least(0));
    v("init_s", c.init_s, "start of the process to the start of the run", at_least(0));
    v("run_s", c.run_s, "start of the run to its end, with evaluation", at_least(0));
    v("train_s", c.train_s, "run_s without evaluation and lost_s", at_least(0));
    v.optional("lost_s", c.lost_s, "of run_s: from checkpoints that a run resumed from to its resumption", at_least(0));
    v.derived("mlperf_s", "run start to run stop, of a run in one piece", at_least(0));
    v.derived("dawnbench_s", "the same without evaluation and checkpoints", at_least(0));
  }
};

struct SettingChange {  // of RecipeRecord::changes and against_defaults
  std::string key;
  std::optional<Anything> before;
  Anything value;

  template <class Self, class Visitor> static void fields(Self& c, Visitor&& v) {
    v("key", c.key, "");
    v.optional("default", c.before, "what it was set against; absent where that has no such key");
    v("value", c.value, "");
  }
};

// The settings as they were resolved.
struct RecipeRecord {
  std::string name;                // of the recipe: a file's name or "default"
  Json settings = Json::object();  // fields_json()
  Json changes = Json::array();    // fields_changed() by the command line, against the recipe
  std::string sha256;              // fields_sha256()
  // fields_changed() by recipe and command line, against the program's defaults. A program without such a key behaved
  // as the default does. Empty in results of programs that did not record it.
  Json against_defaults = Json::array();

  template <class Self, class Visitor> static void fields(Self& r, Visitor&& v) {
    v("name", r.name, "a file's name or default");
    v("sha256", r.sha256, "of the settings", matching(kSha256Pattern));
    v.template described<std::vector<SettingChange>>("changes", r.changes, "by the command line, against the recipe");
    v.template later_described<std::vector<SettingChange>>(
        "against_defaults", r.against_defaults, "by recipe and command line, against the program's defaults");
    v("settings", r.settings, "as they were resolved");
  }
};

// Of RunRecord::data: what every workload says.
struct DataRecord {
  std::optional<std::string> name;
  std::optional<std::int64_t> train_images, eval_images;

  template <class Self, class Visitor> static void fields(Self& d, Visitor&& v) {
    v.optional("name", d.name, "for people");
    v.optional("train_images", d.train_images, "", at_least(0)),
        v.optional("eval_images", d.eval_images, "", at_least(0));
    v.open();
  }
};

// A number that was not finite cannot be a JSON number; it is kept here in words.
struct NonFinite {
  std::int64_t step = 0;
  std::string name;   // "loss.mask"
  std::string value;  // "nan", "inf", "-inf"

  template <class Self, class Visitor> static void fields(Self& n, Visitor&& v) {
    v("step", n.step, "", at_least(0));
    v("name", n.name, "of the sample");
    v("value", n.value, "", one_of({"nan", "inf", "-inf"}));
  }
};

struct RelaxedRule {
  std::string rule, setting, is, allowed;

  template <class Self, class Visitor> static void fields(Self& r, Visitor&& v) {
    v("rule", r.rule, ""), v("setting", r.setting, "that breaks it"), v("is", r.is, ""), v("allowed", r.allowed, "");
  }
};

struct MlperfRecord {
  std::string division, log;
  std::vector<RelaxedRule> relaxed;

  template <class Self, class Visitor> static void fields(Self& m, Visitor&& v) {
    v("division", m.division, "", one_of({"none", "closed", "open"}));
    v("log", m.log, "the file's name");
    v("relaxed", m.relaxed, "rules of the closed division that the user relaxed by name");
  }
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
  Json data = Json::object();   // "name", "train_images", "eval_images" and what else names the data set
  Clocks clocks;
  std::optional<Interruption> interrupted;    // the run is to be resumed: nothing in this record is final
  std::vector<Resume> resumes;                // starts from a checkpoint, in their order
  std::vector<CheckpointSample> checkpoints;  // those whose writing had ended
  std::vector<Event> events;  // in the order of their time; the clocks of other benchmarks are derived from them
  std::optional<MlperfRecord> mlperf;  // of a run with an MLPerf log
  std::vector<Evaluation> accuracy;
  std::optional<FreshEvaluation> fresh;  // where data.generated_fresh asked for it
  StepSeries steps;
  std::vector<Comparison> comparisons;       // of an ablation
  std::vector<ConvergenceRow> convergence;   // of an ablation that trains to a target
  std::vector<BatchLadder> batch_ladders;    // of an ablation that trains at several batches
  std::vector<Peak> peaks;                   // of the machine, where they were measured
  std::vector<Check> checks;                 // of a preflight
  std::optional<TraceRecord> trace;          // where train.trace_steps asked for it
  HealthRecord health;                       // what watched over the run found and cost
  std::vector<std::string> injected;         // faults that the user planted: then the run is no measurement
  std::optional<TelemetrySeries> telemetry;  // where train.telemetry.folder asked for it; of the rank that recorded
  std::vector<NonFinite> non_finite;
  std::vector<std::string> warnings;

  template <class Self, class Visitor> static void fields(Self& r, Visitor&& v);
  // Throws DataError where an evaluation lacks a metric of another one or of the target.
  static void check(const RunRecord& record, const std::string& path);
};

Json to_json(const RunRecord& record);
// Throws DataError naming the key that is missing or has the wrong type, and for another schema version.
RunRecord run_record_from_json(const Json& document);

// results/schema-v1.json: JSON Schema (draft-07) of a result file.
Json result_schema();

}  // namespace ttt::result
