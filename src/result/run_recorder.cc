#include "result/run_recorder.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace ttt::result {
namespace {

// Every number of a sample with the name that the result gives it.
template <class Visit>
void each_number(const StepSample& s, Visit&& visit) {
  visit("step_s", s.step_s);
  visit("learning_rate", s.learning_rate);
  for (std::size_t i = 0; i < kPhaseNames.size(); ++i) visit("phase_s." + std::string(kPhaseNames[i]), s.phase_s[i]);
  for (std::size_t i = 0; i < kLossNames.size(); ++i) visit("loss." + std::string(kLossNames[i]), s.loss[i]);
}

template <class Visit>
void each_number(const Evaluation& e, Visit&& visit) {
  visit("wall_s", e.wall_s);
  visit("duration_s", e.duration_s);
  for (std::size_t i = 0; i < kCocoStatNames.size(); ++i) {
    visit("bbox." + std::string(kCocoStatNames[i]), e.bbox[i]);
    visit("segm." + std::string(kCocoStatNames[i]), e.segm[i]);
  }
}

void each_norm(const char* kind, const std::vector<std::string>& groups, const std::vector<double>& values, const auto& visit) {
  for (std::size_t g = 0; g < groups.size(); ++g) visit(std::string(kind) + "." + groups[g], values.at(g));
}

std::string words(double v) { return std::isnan(v) ? "nan" : v > 0 ? "inf" : "-inf"; }

// The static part of a record, for a journal's "start" and "update" lines: the samples have lines of their own.
Json without_samples(const RunRecord& record) {
  RunRecord copy = record;
  copy.steps = {};
  copy.accuracy.clear();
  copy.non_finite.clear();
  copy.warnings.clear();
  copy.trace.reset();
  if (copy.telemetry) copy.telemetry = TelemetrySeries(copy.telemetry->every_steps, copy.telemetry->group, copy.telemetry->parameters);
  return to_json(copy);
}

Json non_finite_json(const NonFinite& n) {
  return {{"type", "non_finite"}, {"step", n.step}, {"name", n.name}, {"value", n.value}};
}

Json clocks_line(const Clocks& c) {
  return {{"type", "clocks"}, {"total_s", c.total_s}, {"init_s", c.init_s}, {"run_s", c.run_s}, {"train_s", c.train_s}};
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

template <class Sample>
bool RunRecorder::keep_finite(const Sample& sample, const std::string& prefix) {
  bool finite = true;
  each_number(sample, [&](const std::string& name, double value) { finite &= keep_if_finite(sample.step, prefix + name, value); });
  return finite;
}

bool RunRecorder::keep_if_finite(std::int64_t step, const std::string& name, double value) {
  if (std::isfinite(value)) return true;
  record_.non_finite.push_back({step, name, words(value)});
  log(non_finite_json(record_.non_finite.back()));
  return false;
}

bool RunRecorder::step(const StepSample& sample) {
  const std::lock_guard lock(mutex_);
  if (!keep_finite(sample, "")) return false;
  record_.steps.add(sample);
  if (journal_) {
    Json line = {{"type", "step"}};
    line.update(step_json(sample));
    log(line);
  }
  return true;
}

bool RunRecorder::evaluation(const Evaluation& evaluation) {
  const std::lock_guard lock(mutex_);
  if (!keep_finite(evaluation, "accuracy.")) return false;
  record_.accuracy.push_back(evaluation);
  if (!journal_) return true;
  Json line = {{"type", "evaluation"}};
  line.update(evaluation_json(evaluation));
  log(line);
  return true;
}

bool RunRecorder::telemetry(const TelemetrySample& sample) {
  const std::lock_guard lock(mutex_);
  const std::vector<std::string>& groups = record_.telemetry.value().group;
  bool finite = true;
  const auto check = [&](const std::string& name, double value) { finite &= keep_if_finite(sample.step, "telemetry." + name, value); };
  each_norm("gradient_norm", groups, sample.gradient_norm, check);
  each_norm("weight_norm", groups, sample.weight_norm, check);
  each_norm("update_norm", groups, sample.update_norm, check);
  if (!finite) return false;
  record_.telemetry->add(sample);
  if (!journal_) return true;
  Json line = {{"type", "telemetry"}};
  line.update(telemetry_sample_json(sample));
  log(line);
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
  if (journal_) log(clocks_line(clocks));
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

void RunRecorder::start_journal(const std::filesystem::path& folder, int rank) {
  const std::lock_guard lock(mutex_);
  try {
    journal_ = std::make_unique<Journal>(folder, rank);
    log({{"type", "start"}, {"rank", rank}, {"record", without_samples(record_)}});
  } catch (const Error& e) {
    warn_locked(e.what());
  }
}

void RunRecorder::discard_journal() {
  const std::lock_guard lock(mutex_);
  if (journal_) journal_->discard();
  journal_.reset();
}

}  // namespace ttt::result
