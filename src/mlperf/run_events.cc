#include "mlperf/run_events.h"

namespace ttt::train {

using result::EventKind;

RunEvents::RunEvents(double start_s, result::RunRecorder& recorder, std::unique_ptr<MlperfLog> log)
    : recorder_(recorder), log_(std::move(log)), events_(start_s, [this](const result::Event& e) { tell(e); }) {}

RunEvents::~RunEvents() {
  try {
    if (running_) add(EventKind::kRunStop, last_, {{"status", "aborted"}});
    events_.add(EventKind::kProgramStop, last_.step);
  } catch (...) {  // what is already on its way says why the run ends
  }
}

void RunEvents::tell(const result::Event& event) {
  recorder_.event(event);
  if (log_ && !log_->event(event))
    recorder_.warn("The MLPerf log " + log_->path().string() +
                   " could no longer be written: it lacks its later lines, which `events` in this result has.");
}

void RunEvents::add(EventKind kind, const Position& at, result::Json values) {
  if (at.step >= last_.step)
    last_ = at;  // of an evaluation that training continued beside: its own place, not the run's
  events_.add(kind, at.step, at.epoch, std::move(values));
}

void RunEvents::run_started(const Position& at) {
  add(EventKind::kRunStart, at);
  running_ = true;
}

void RunEvents::epoch_started(const Position& at) {
  epoch_images_ = at.images;
  add(EventKind::kEpochStart, at);
}

void RunEvents::epoch_ended(const Position& at) {
  add(EventKind::kEpochStop, at, {{"images", at.images - epoch_images_}});
}

void RunEvents::evaluation_started(const Position& at) { add(EventKind::kEvaluationStart, at); }

void RunEvents::evaluation_predicted(const Position& at, bool training_continues) {
  if (training_continues) add(EventKind::kEvaluationPredicted, at);
}

void RunEvents::evaluated(const Position& at, const result::Evaluation& e) {
  // MLPerf's names: BBOX is bbox.AP.
  result::Json metrics = result::Json::object();
  for (const result::Metric& m : e.metrics) {
    std::string group = m.name.substr(0, m.name.find('.'));
    if (m.name.ends_with(".AP"))
      for (char& c : group) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    if (m.name.ends_with(".AP") || group == m.name) metrics[group] = m.value;
  }
  add(EventKind::kEvaluationStop, at, std::move(metrics));
}

void RunEvents::run_ended(const Ending& ending) {
  running_ = false;
  add(EventKind::kRunStop, last_, {{"status", ending.verdict == result::Verdict::kPassed ? "success" : "aborted"}});
}

}  // namespace ttt::train
