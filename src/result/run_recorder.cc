#include "result/run_recorder.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error.h"

namespace ttt::result {
namespace {

// Every number of a sample with the name that the result gives it.
template <class Visit> void each_number(const StepSample& s, Visit&& visit) {
  visit("step_s", s.step_s);
  visit("learning_rate", s.learning_rate);
  for (std::size_t i = 0; i < kPhaseNames.size(); ++i) visit("phase_s." + std::string(kPhaseNames[i]), s.phase_s[i]);
}

template <class Visit> void each_number(const Evaluation& e, Visit&& visit) {
  visit("wall_s", e.wall_s);
  visit("duration_s", e.duration_s);
  for (const Metric& m : e.metrics) visit(m.name, m.value);
}

void each_norm(
    const char* kind, const std::vector<std::string>& groups, const std::vector<double>& values, const auto& visit) {
  for (std::size_t g = 0; g < groups.size(); ++g) visit(std::string(kind) + "." + groups[g], values.at(g));
}

std::string words(double v) { return std::isnan(v) ? "nan" : v > 0 ? "inf" : "-inf"; }

// The static part of a record, for a journal's "start" and "update" lines: the samples have lines of their own.
Json without_samples(const RunRecord& record) {
  RunRecord copy = record;
  copy.steps = {};
  copy.steps.name_losses(record.steps.loss_names);
  copy.accuracy.clear();
  copy.non_finite.clear();
  copy.warnings.clear();
  copy.checkpoints.clear();
  copy.trace.reset();
  copy.events.clear();
  if (copy.telemetry) copy.telemetry = copy.telemetry->without_samples();
  return to_json(copy);
}

// A sample's line: its members behind the word that says what it is.
template <class Sample> Json line_of(const char* type, const Sample& sample) {
  Json line = {{"type", type}};
  line.update(json_of(sample));
  return line;
}

}  // namespace

void RunRecorder::log(const Json& line) {
  if (!journal_ || journal_->write(line)) return;
  warn_locked("The journal " + journal_->path().string() +
              " could no longer be written: a killed run would lose its later samples.");
}

void RunRecorder::warn_locked(const std::string& warning) {
  if (std::find(record_.warnings.begin(), record_.warnings.end(), warning) != record_.warnings.end()) return;
  record_.warnings.push_back(warning);
  if (journal_) journal_->write({{"type", "warning"}, {"text", warning}});
}

void RunRecorder::update(const std::function<void(RunRecord&)>& change) {
  const std::lock_guard lock(mutex_);
  RunRecord next = record_;
  change(next);
  // Found here, where it was set, and not hours later by the writer of the result.
  Json line = {{"type", "update"}, {"record", without_samples(next)}};
  dump(line, -1);
  record_ = std::move(next);
  if (journal_) log(line);
}

template <class Sample> bool RunRecorder::keep_finite(const Sample& sample, const std::string& prefix) {
  bool finite = true;
  each_number(sample,
      [&](const std::string& name, double value) { finite &= keep_if_finite(sample.step, prefix + name, value); });
  return finite;
}

bool RunRecorder::keep_if_finite(std::int64_t step, const std::string& name, double value) {
  if (std::isfinite(value)) return true;
  record_.non_finite.push_back({step, name, words(value)});
  log(line_of("non_finite", record_.non_finite.back()));
  return false;
}

bool RunRecorder::step(const StepSample& sample) {
  const std::lock_guard lock(mutex_);
  bool finite = keep_finite(sample, "");
  for (std::size_t i = 0; i < sample.loss.size(); ++i)
    finite &= keep_if_finite(sample.step, "loss." + record_.steps.loss_names.at(i), sample.loss[i]);
  if (!finite) return false;
  record_.steps.add(sample);
  if (journal_) log(line_of("step", sample));
  return true;
}

bool RunRecorder::evaluation(const Evaluation& evaluation) {
  const std::lock_guard lock(mutex_);
  if (!keep_finite(evaluation, "accuracy.")) return false;
  record_.accuracy.push_back(evaluation);
  if (journal_) log(line_of("evaluation", evaluation));
  return true;
}

void RunRecorder::checkpoint(const CheckpointSample& sample) {
  const std::lock_guard lock(mutex_);
  record_.checkpoints.push_back(sample);
  if (journal_) log(line_of("checkpoint", sample));
}

void RunRecorder::event(const Event& event) {
  const std::lock_guard lock(mutex_);
  record_.events.push_back(event);
  if (journal_) log(line_of("event", event));
}

bool RunRecorder::telemetry(const TelemetrySample& sample) {
  const std::lock_guard lock(mutex_);
  const std::vector<std::string> groups = record_.telemetry.value().names();
  bool finite = true;
  const auto check = [&](const std::string& name, double value) {
    finite &= keep_if_finite(sample.step, "telemetry." + name, value);
  };
  each_norm("gradient_norm", groups, sample.gradient_norm, check);
  each_norm("weight_norm", groups, sample.weight_norm, check);
  each_norm("update_norm", groups, sample.update_norm, check);
  if (!sample.weight_gradient.empty()) each_norm("weight_gradient", groups, sample.weight_gradient, check);
  if (sample.part_gradient_norm) check("part_gradient_norm", *sample.part_gradient_norm);
  if (!finite) return false;
  record_.telemetry->add(sample);
  if (journal_) log(line_of("telemetry", sample));
  return true;
}

void RunRecorder::pictures(std::int64_t step, double cost_s) {
  const std::lock_guard lock(mutex_);
  record_.telemetry.value().picture_step.push_back(step), record_.telemetry->picture_cost_s.push_back(cost_s);
  if (journal_) log({{"type", "pictures"}, {"step", step}, {"cost_s", cost_s}});
}

void RunRecorder::warn(const std::string& warning) {
  const std::lock_guard lock(mutex_);
  warn_locked(warning);
}

void RunRecorder::clocks(const Clocks& clocks) {
  const std::lock_guard lock(mutex_);
  record_.clocks = clocks;
  if (journal_) log(line_of("clocks", clocks));
}

void RunRecorder::finish(Verdict verdict, const std::string& reason) {
  const std::lock_guard lock(mutex_);
  record_.verdict = verdict;
  record_.reason = reason;
  if (journal_) log({{"type", "end"}, {"verdict", verdict_name(verdict)}, {"reason", reason}});
}

RunRecord RunRecorder::snapshot() const {
  const std::lock_guard lock(mutex_);
  return record_;
}

RunRecord RunRecorder::past() const {
  const std::lock_guard lock(mutex_);
  RunRecord r;
  r.resumes = record_.resumes;
  r.checkpoints = record_.checkpoints;
  r.accuracy = record_.accuracy;
  r.non_finite = record_.non_finite;
  r.warnings = record_.warnings;
  r.telemetry = record_.telemetry;
  r.steps.name_losses(record_.steps.loss_names);
  return r;
}

StepSeries RunRecorder::steps_from(std::size_t first) const {
  const std::lock_guard lock(mutex_);
  return record_.steps.from(first);
}

void RunRecorder::restore(const RunRecord& past) {
  {
    const std::lock_guard lock(mutex_);
    StepSeries own = std::exchange(record_.steps, past.steps);
    record_.steps.append(own);
    record_.steps.step_ranks = own.step_ranks, record_.steps.phase_ranks = own.phase_ranks,
    record_.steps.loss_ranks = own.loss_ranks;
    restored_ = past.steps.size();
    record_.telemetry = past.telemetry;
    const auto before = [](auto& list, const auto& earlier) {
      list.insert(list.begin(), earlier.begin(), earlier.end());
    };
    before(record_.accuracy, past.accuracy), before(record_.non_finite, past.non_finite);
    before(record_.checkpoints, past.checkpoints), before(record_.resumes, past.resumes);
    // A journal that is killed in its turn must tell of them too, and first how the losses are called.
    if (journal_) log({{"type", "update"}, {"record", without_samples(record_)}});
    for (std::size_t i = 0; journal_ && i < restored_; ++i) log(line_of("step", record_.steps.at(i)));
    for (const Evaluation& e : past.accuracy)
      if (journal_) log(line_of("evaluation", e));
    for (const NonFinite& n : past.non_finite)
      if (journal_) log(line_of("non_finite", n));
    for (const CheckpointSample& s : past.checkpoints)
      if (journal_) log(line_of("checkpoint", s));
  }
  for (const std::string& warning : past.warnings) warn(warning);
}

void RunRecorder::start_journal(const std::filesystem::path& folder, int rank) {
  const std::lock_guard lock(mutex_);
  try {
    journal_ = std::make_unique<Journal>(folder, rank);
    log({{"type", "start"}, {"rank", rank}, {"record", without_samples(record_)}});
  } catch (const Error& e) { warn_locked(e.what()); }
}

void RunRecorder::discard_journal() {
  const std::lock_guard lock(mutex_);
  if (journal_) journal_->discard();
  journal_.reset();
}

}  // namespace ttt::result
