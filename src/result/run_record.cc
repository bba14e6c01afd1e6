#include "result/run_record.h"

#include <algorithm>

#include "core/error.h"
#include "result/members.h"

namespace ttt::result {
namespace {

struct VerdictWord {
  Verdict verdict;
  std::string_view name;
  int exit_code;
};
// Exit codes are those of core/error.h; 6 is the run that ended as planned without reaching its target.
constexpr VerdictWord kVerdicts[] = {{Verdict::kPassed, "passed", 0}, {Verdict::kIncorrect, "incorrect", 5},
    {Verdict::kFailed, "failed", 1}, {Verdict::kNotConverged, "not_converged", 6},
    {Verdict::kNotSupported, "not_supported", 4}, {Verdict::kNotRun, "not_run", 0}, {Verdict::kSmoke, "smoke", 0}};

Json steps_json(const StepSeries& s) {
  Json phases = Json::object(), losses = Json::object();
  for (std::size_t i = 0; i < kPhaseNames.size(); ++i) phases[std::string(kPhaseNames[i])] = s.phase_s[i];
  for (std::size_t i = 0; i < s.loss_names.size(); ++i) losses[s.loss_names[i]] = s.loss[i];
  return {{"step", s.step}, {"images", s.images}, {"step_s", {{"ranks", s.step_ranks}, {"values", s.step_s}}},
      {"phase_s", {{"ranks", s.phase_ranks}, {"values", phases}}},
      {"loss", {{"ranks", s.loss_ranks}, {"values", losses}}}, {"learning_rate", s.learning_rate}};
}

StepSeries steps_from_json(const Json& object) {
  StepSeries s;
  s.step = get_list<std::int64_t>(object, "step", "steps");
  s.images = get_list<std::int64_t>(object, "images", "steps");
  s.learning_rate = get_list<double>(object, "learning_rate", "steps");
  const Json& step = get_object(object, "step_s", "steps");
  s.step_ranks = get<std::string>(step, "ranks", "steps.step_s");
  s.step_s = get_list<double>(step, "values", "steps.step_s");
  const Json& phase = get_object(object, "phase_s", "steps");
  s.phase_ranks = get<std::string>(phase, "ranks", "steps.phase_s");
  const Json& loss = get_object(object, "loss", "steps");
  s.loss_ranks = get<std::string>(loss, "ranks", "steps.loss");
  for (std::size_t i = 0; i < kPhaseNames.size(); ++i)
    s.phase_s[i] = get_list<double>(
        get_object(phase, "values", "steps.phase_s"), std::string(kPhaseNames[i]), "steps.phase_s.values");
  const Json& losses = get_object(loss, "values", "steps.loss");
  for (const auto& entry : losses.items())
    s.loss_names.push_back(entry.key()), s.loss.push_back(get_list<double>(losses, entry.key(), "steps.loss.values"));
  const auto check = [&](std::size_t size) {
    if (size != s.step.size())
      throw DataError("The columns of 'steps' in the result have different lengths. Take the original file.");
  };
  check(s.images.size()), check(s.learning_rate.size()), check(s.step_s.size());
  for (const auto& v : s.phase_s) check(v.size());
  for (const auto& v : s.loss) check(v.size());
  return s;
}

Json recipe_json(const RecipeRecord& r) {
  return {{"name", r.name}, {"sha256", r.sha256}, {"changes", r.changes}, {"settings", r.settings}};
}

RecipeRecord recipe_from_json(const Json& object) {
  return {.name = get<std::string>(object, "name", "recipe"),
      .settings = get_object(object, "settings", "recipe"),
      .changes = get_array(object, "changes", "recipe"),
      .sha256 = get<std::string>(object, "sha256", "recipe")};
}

// The clocks of other benchmarks are of a run in one piece: what an interruption costs is not theirs to say.
Json clocks_json(const RunRecord& r) {
  const Clocks& c = r.clocks;
  Json j = {{"total_s", c.total_s}, {"init_s", c.init_s}, {"run_s", c.run_s}, {"train_s", c.train_s}};
  if (c.lost_s > 0) j["lost_s"] = c.lost_s;
  if (const auto b = benchmark_clocks(r.events); b && r.resumes.empty())
    j["mlperf_s"] = b->mlperf_s, j["dawnbench_s"] = b->dawnbench_s;
  return j;
}

Clocks clocks_from_json(const Json& c) {
  return {.total_s = get<double>(c, "total_s", "clocks"),
      .init_s = get<double>(c, "init_s", "clocks"),
      .run_s = get<double>(c, "run_s", "clocks"),
      .train_s = get<double>(c, "train_s", "clocks"),
      .lost_s = c.contains("lost_s") ? get<double>(c, "lost_s", "clocks") : 0};
}

void check_version(const Json& document) {
  const auto version = get<std::int64_t>(document, "schema_version", "");
  if (version == kSchemaVersion) return;
  throw DataError("The result has schema version " + std::to_string(version) + ", this program reads version " +
                  std::to_string(kSchemaVersion) + ". " +
                  (version > kSchemaVersion ? "Use the report of the newer build that wrote it."
                                            : "Use the report of the build that wrote it (provenance.commit)."));
}

}  // namespace

std::string_view verdict_name(Verdict verdict) {
  for (const VerdictWord& w : kVerdicts)
    if (w.verdict == verdict) return w.name;
  throw Error("A verdict without a name. This is a bug.");
}

std::string verdict_title(Verdict verdict) {
  std::string title(verdict_name(verdict));
  for (char& c : title) c = c == '_' ? ' ' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return title;
}

Verdict verdict_from_name(const std::string& name) {
  for (const VerdictWord& w : kVerdicts)
    if (w.name == name) return w.verdict;
  throw DataError("'" + name + "' is no verdict of a result. Take the original file.");
}

int verdict_exit_code(Verdict verdict) {
  for (const VerdictWord& w : kVerdicts)
    if (w.verdict == verdict) return w.exit_code;
  return 1;
}

void StepSeries::name_losses(const std::vector<std::string>& names) {
  std::vector<std::vector<double>> ordered(names.size(), std::vector<double>(size()));
  for (std::size_t i = 0; i < loss_names.size(); ++i) {
    const auto at = std::find(names.begin(), names.end(), loss_names[i]);
    if (at == names.end())
      throw DataError("The steps so far have a loss '" + loss_names[i] +
                      "', which this workload does not have. Use a run of the same workload.");
    ordered[static_cast<std::size_t>(at - names.begin())] = std::move(loss[i]);
  }
  loss_names = names, loss = std::move(ordered);
}

void StepSeries::add(const StepSample& sample) {
  if (sample.loss.size() != loss.size())
    throw Error("A step has " + std::to_string(sample.loss.size()) + " losses, and the run " +
                std::to_string(loss.size()) + ". This is a bug.");
  step.push_back(sample.step);
  images.push_back(sample.images);
  step_s.push_back(sample.step_s);
  learning_rate.push_back(sample.learning_rate);
  for (std::size_t i = 0; i < phase_s.size(); ++i) phase_s[i].push_back(sample.phase_s[i]);
  for (std::size_t i = 0; i < loss.size(); ++i) loss[i].push_back(sample.loss[i]);
}

StepSample StepSeries::at(std::size_t i) const {
  StepSample s{
      .step = step[i], .images = images[i], .step_s = step_s[i], .loss = {}, .learning_rate = learning_rate[i]};
  for (std::size_t p = 0; p < phase_s.size(); ++p) s.phase_s[p] = phase_s[p][i];
  for (const std::vector<double>& column : loss) s.loss.push_back(column[i]);
  return s;
}

StepSeries StepSeries::from(std::size_t first) const {
  StepSeries s = *this;
  for_each_column(s, [&](const std::string&, auto& column) {
    column.erase(column.begin(), column.begin() + static_cast<std::ptrdiff_t>(std::min(first, column.size())));
  });
  return s;
}

void StepSeries::truncate(std::size_t size) {
  for_each_column(*this, [&](const std::string&, auto& column) { column.resize(size); });
}

void StepSeries::append(StepSeries later) {
  if (loss_names.empty() && size() == 0) name_losses(later.loss_names);
  later.name_losses(loss_names);
  const auto add = [](auto& to, const auto& more) { to.insert(to.end(), more.begin(), more.end()); };
  add(step, later.step), add(images, later.images), add(step_s, later.step_s), add(learning_rate, later.learning_rate);
  for (std::size_t i = 0; i < phase_s.size(); ++i) add(phase_s[i], later.phase_s[i]);
  for (std::size_t i = 0; i < loss.size(); ++i) add(loss[i], later.loss[i]);
}

Json evaluation_json(const Evaluation& e) {
  Json j = {
      {"epoch", e.epoch}, {"step", e.step}, {"images", e.images}, {"wall_s", e.wall_s}, {"duration_s", e.duration_s}};
  j.update(metrics_json(e.metrics));
  return j;
}

Evaluation evaluation_from_json(const Json& object, const std::string& path) {
  return {.epoch = get<std::int64_t>(object, "epoch", path),
      .step = get<std::int64_t>(object, "step", path),
      .images = get<std::int64_t>(object, "images", path),
      .wall_s = get<double>(object, "wall_s", path),
      .duration_s = get<double>(object, "duration_s", path),
      .metrics = metrics_from_json(object, path, {"type", "epoch", "step", "images", "wall_s", "duration_s"})};
}

Json step_json(const StepSample& s) {
  return {{"step", s.step}, {"images", s.images}, {"step_s", s.step_s}, {"phase_s", s.phase_s}, {"loss", s.loss},
      {"lr", s.learning_rate}};
}

StepSample step_from_json(const Json& object, const std::string& path) {
  StepSample s{.step = get<std::int64_t>(object, "step", path),
      .images = get<std::int64_t>(object, "images", path),
      .step_s = get<double>(object, "step_s", path),
      .loss = get_list<double>(object, "loss", path),
      .learning_rate = get<double>(object, "lr", path)};
  const auto phases = get_list<double>(object, "phase_s", path);
  if (phases.size() != s.phase_s.size())
    throw DataError("'" + path + "' has " + std::to_string(phases.size()) + " phases. Take the original file.");
  std::copy(phases.begin(), phases.end(), s.phase_s.begin());
  return s;
}

Json to_json(const RunRecord& r) {
  Json accuracy = Json::array(), non_finite = Json::array();
  for (const Evaluation& e : r.accuracy) accuracy.push_back(evaluation_json(e));
  for (const NonFinite& n : r.non_finite)
    non_finite.push_back({{"step", n.step}, {"name", n.name}, {"value", n.value}});
  Json j = {{"schema_version", kSchemaVersion}, {"kind", r.kind}, {"run_id", r.run_id},
      {"verdict", verdict_name(r.verdict)}, {"reason", r.reason}};
  if (r.target) j["target"] = metrics_json(*r.target);
  j["provenance"] = r.provenance;
  j["system"] = r.system;
  j["recipe"] = recipe_json(r.recipe);
  j["built"] = r.built;
  j["data"] = r.data;
  j["clocks"] = clocks_json(r);
  if (r.interrupted) j["interrupted"] = interruption_json(*r.interrupted);
  const auto list = [&](const char* key, const auto& samples, auto&& json) {
    if (samples.empty()) return;
    Json& rows = j[key] = Json::array();
    for (const auto& sample : samples) rows.push_back(json(sample));
  };
  list("resumes", r.resumes, resume_json);
  list("checkpoints", r.checkpoints, checkpoint_json);
  list("events", r.events, event_json);
  if (!r.mlperf.is_null()) j["mlperf"] = r.mlperf;
  j["accuracy"] = std::move(accuracy);
  j["steps"] = steps_json(r.steps);
  if (!r.convergence.empty()) {
    Json& rows = j["convergence"] = Json::array();
    for (const ConvergenceRow& c : r.convergence) rows.push_back(convergence_json(c));
  }
  if (!r.comparisons.empty()) {
    Json& rows = j["comparisons"] = Json::array();
    for (const Comparison& c : r.comparisons) rows.push_back(comparison_json(c));
  }
  if (!r.peaks.empty()) {
    Json& rows = j["peaks"] = Json::array();
    for (const Peak& p : r.peaks) rows.push_back(peak_json(p));
  }
  if (!r.checks.empty()) {
    Json& rows = j["checks"] = Json::array();
    for (const Check& c : r.checks) rows.push_back(check_json(c));
  }
  if (r.trace) j["trace"] = trace_json(*r.trace);
  if (!r.health.empty()) j["health"] = r.health;
  if (!r.injected.empty()) j["injected"] = r.injected;
  if (r.telemetry) j["telemetry"] = telemetry_json(*r.telemetry);
  j["non_finite"] = std::move(non_finite);
  j["warnings"] = r.warnings;
  return j;
}

namespace {

// Every evaluation of a run has the same metrics, and all that its target bounds.
void check_metrics(const RunRecord& r) {
  Metrics wanted;
  for (const Evaluation& e : r.accuracy) wanted.insert(wanted.end(), e.metrics.begin(), e.metrics.end());
  if (r.target) wanted.insert(wanted.end(), r.target->begin(), r.target->end());
  for (const Evaluation& e : r.accuracy)
    for (const Metric& m : wanted)
      if (!find(e.metrics, m.name))
        throw DataError("The evaluation of step " + std::to_string(e.step) + " has no metric '" + m.name +
                        "'. Take the original file.");
}

}  // namespace

RunRecord run_record_from_json(const Json& document) {
  check_version(document);
  RunRecord r;
  r.kind = get<std::string>(document, "kind", "");
  r.run_id = get<std::string>(document, "run_id", "");
  r.verdict = verdict_from_name(get<std::string>(document, "verdict", ""));
  r.reason = get<std::string>(document, "reason", "");
  if (document.contains("target")) r.target = metrics_from_json(get_object(document, "target", ""), "target");
  r.provenance = get_object(document, "provenance", "");
  r.system = get_object(document, "system", "");
  r.recipe = recipe_from_json(get_object(document, "recipe", ""));
  r.built = get_object(document, "built", "");
  r.data = get_object(document, "data", "");
  r.clocks = clocks_from_json(get_object(document, "clocks", ""));
  if (document.contains("interrupted"))
    r.interrupted = interruption_from_json(get_object(document, "interrupted", ""), "interrupted");
  if (document.contains("resumes"))
    for (const Json& e : get_array(document, "resumes", ""))
      r.resumes.push_back(resume_from_json(e, "resumes[" + std::to_string(r.resumes.size()) + "]"));
  if (document.contains("checkpoints"))
    for (const Json& e : get_array(document, "checkpoints", ""))
      r.checkpoints.push_back(checkpoint_from_json(e, "checkpoints[" + std::to_string(r.checkpoints.size()) + "]"));
  if (document.contains("events"))
    for (const Json& e : get_array(document, "events", ""))
      r.events.push_back(event_from_json(e, "events[" + std::to_string(r.events.size()) + "]"));
  if (document.contains("mlperf")) r.mlperf = get_object(document, "mlperf", "");
  for (const Json& e : get_array(document, "accuracy", ""))
    r.accuracy.push_back(evaluation_from_json(e, "accuracy[" + std::to_string(r.accuracy.size()) + "]"));
  check_metrics(r);
  r.steps = steps_from_json(get_object(document, "steps", ""));
  if (document.contains("convergence"))
    for (const Json& c : get_array(document, "convergence", ""))
      r.convergence.push_back(convergence_from_json(c, "convergence[" + std::to_string(r.convergence.size()) + "]"));
  if (document.contains("comparisons"))
    for (const Json& c : get_array(document, "comparisons", ""))
      r.comparisons.push_back(comparison_from_json(c, "comparisons[" + std::to_string(r.comparisons.size()) + "]"));
  if (document.contains("peaks"))
    for (const Json& p : get_array(document, "peaks", ""))
      r.peaks.push_back(peak_from_json(p, "peaks[" + std::to_string(r.peaks.size()) + "]"));
  if (document.contains("checks"))
    for (const Json& c : get_array(document, "checks", ""))
      r.checks.push_back(check_from_json(c, "checks[" + std::to_string(r.checks.size()) + "]"));
  if (document.contains("trace")) r.trace = trace_from_json(get_object(document, "trace", ""));
  if (document.contains("health")) r.health = get_object(document, "health", "");
  if (document.contains("injected")) r.injected = get_list<std::string>(document, "injected", "");
  if (document.contains("telemetry")) r.telemetry = telemetry_from_json(get_object(document, "telemetry", ""));
  for (const Json& n : get_array(document, "non_finite", ""))
    r.non_finite.push_back({get<std::int64_t>(n, "step", "non_finite"), get<std::string>(n, "name", "non_finite"),
        get<std::string>(n, "value", "non_finite")});
  r.warnings = get_list<std::string>(document, "warnings", "");
  return r;
}

}  // namespace ttt::result
