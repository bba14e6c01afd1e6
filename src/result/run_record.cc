#include "result/run_record.h"

#include <algorithm>

#include "core/error.h"

namespace ttt::result {
namespace {

constexpr VerdictWord kWords[] = {{Verdict::kPassed, "passed"}, {Verdict::kIncorrect, "incorrect"},
    {Verdict::kFailed, "failed"}, {Verdict::kNotConverged, "not_converged"}, {Verdict::kNotSupported, "not_supported"},
    {Verdict::kNotRun, "not_run"}, {Verdict::kSmoke, "smoke"}};

void check_version(const Json& document) {
  const auto version = get<std::int64_t>(document, "schema_version", "");
  if (version == kSchemaVersion) return;
  throw DataError("The result has schema version " + std::to_string(version) + ", this program reads version " +
                  std::to_string(kSchemaVersion) + ". " +
                  (version > kSchemaVersion ? "Use the report of the newer build that wrote it."
                                            : "Use the report of the build that wrote it (provenance.commit)."));
}

}  // namespace

std::span<const VerdictWord> words_of(Verdict) { return kWords; }

std::string_view verdict_name(Verdict verdict) { return detail::word_of(verdict); }

std::string verdict_title(Verdict verdict) {
  std::string title(verdict_name(verdict));
  for (char& c : title) c = c == '_' ? ' ' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return title;
}

Verdict verdict_from_name(const std::string& name) {
  if (const auto verdict = detail::from_word<Verdict>(name)) return *verdict;
  throw DataError("'" + name + "' is no verdict of a result. Take the original file.");
}

// Exit codes are those of core/error.h; 6 is the run that ended as planned without reaching its target.
int verdict_exit_code(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPassed:
    case Verdict::kSmoke:
    case Verdict::kNotRun: return 0;
    case Verdict::kIncorrect: return 5;
    case Verdict::kNotConverged: return 6;
    case Verdict::kNotSupported: return 4;
    case Verdict::kFailed: break;
  }
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

void StepSeries::check(const StepSeries& s, const std::string& path) {
  for_each_column(s, [&](const std::string&, const auto& column) {
    if (column.size() != s.size())
      throw DataError("The columns of '" + path + "' in the result have different lengths. Take the original file.");
  });
}

template <class Self, class Visitor> void RunRecord::fields(Self& r, Visitor&& v) {
  v.constant("schema_version", kSchemaVersion, "");
  v("kind", r.kind, "time_to_target, ablation, roofline, ...", matching("."));
  v("run_id", r.run_id, "the same on every rank of a run");
  v("verdict", r.verdict, "only passed may enter a table of performance");
  v("reason", r.reason, "of the verdict");
  v.optional("target", r.target, "metrics that one evaluation must reach, in lower case with _ for . (bbox_ap)");
  v.template described<Provenance>("provenance", r.provenance, "the build and the command line");
  v.template described<System>("system", r.system, "the machine; host names are hashed");
  v("recipe", r.recipe, "");
  v("built", r.built, "every part's description of itself");
  v.template described<DataRecord>("data", r.data, "");
  v("clocks", r.clocks, "durations on rank 0's monotonic clock, from the very first start of a run");
  v.optional("interrupted", r.interrupted, "the run is to be resumed: nothing in this record is final");
  v.optional("resumes", r.resumes, "starts from a checkpoint");
  v.optional("checkpoints", r.checkpoints, "those whose writing had ended");
  v.optional("events", r.events, "in the order of their time");
  v.optional("mlperf", r.mlperf, "of a run with an MLPerf log");
  v("accuracy", r.accuracy, "every evaluation");
  v.optional("fresh", r.fresh, "the last weights on images that were generated for this seed alone");
  v("steps", r.steps, "samples of all steps, as columns of equal length");
  v.optional("convergence", r.convergence, "of an ablation that trains to a target");
  v.optional("batch_ladders", r.batch_ladders, "of an ablation that trains at several batches");
  v.optional("comparisons", r.comparisons, "of an ablation");
  v.optional("peaks", r.peaks, "of the machine, where they were measured");
  v.optional("checks", r.checks, "of a preflight");
  v.optional("trace", r.trace, "where train.trace_steps asked for it");
  v.optional("health", r.health, "what watched over the run found and cost");
  v.optional("injected", r.injected, "faults that the user planted: the run is no measurement");
  v.optional("telemetry", r.telemetry, "of the rank that recorded");
  v("non_finite", r.non_finite, "numbers that JSON cannot hold, in words");
  v("warnings", r.warnings, "");
}

Json to_json(const RunRecord& r) {
  Json j = json_of(r);
  // The clocks of other benchmarks are of a run in one piece: what an interruption costs is not theirs to say.
  if (const auto b = benchmark_clocks(r.events); b && r.resumes.empty())
    j["clocks"]["mlperf_s"] = b->mlperf_s, j["clocks"]["dawnbench_s"] = b->dawnbench_s;
  return j;
}

void RunRecord::check(const RunRecord& r, const std::string&) {
  Metrics wanted;
  for (const Evaluation& e : r.accuracy) wanted.insert(wanted.end(), e.metrics.begin(), e.metrics.end());
  if (r.target) wanted.insert(wanted.end(), r.target->begin(), r.target->end());
  for (const Evaluation& e : r.accuracy)
    for (const Metric& m : wanted)
      if (!find(e.metrics, m.name))
        throw DataError("The evaluation of step " + std::to_string(e.step) + " has no metric '" + m.name +
                        "'. Take the original file.");
}

RunRecord run_record_from_json(const Json& document) {
  check_version(document);
  return record_from_json<RunRecord>(document, "");
}

Json result_schema() {
  Json schema = {{"$schema", "http://json-schema.org/draft-07/schema#"},
      {"title", "Result of one run, schema version " + std::to_string(kSchemaVersion)},
      {"description",
          "Facts and raw samples; statistics belong to the report. Units are in the names (_s seconds, _bytes "
          "bytes)."}};
  schema.update(detail::schema_of<RunRecord>({}));
  schema["properties"]["content_sha256"] = {
      {"type", "string"}, {"pattern", kSha256Pattern}, {"description", "of the text with these digits replaced by 0"}};
  schema["required"].push_back("content_sha256");
  return schema;
}

}  // namespace ttt::result
