// Tells the run's record, and its MLPerf log where there is one, when what happened.
#pragma once

#include <memory>

#include "mlperf/log.h"
#include "result/event_log.h"
#include "result/run_recorder.h"
#include "train/listener.h"

namespace ttt::train {

class RunEvents final : public Listener {
 public:
  // `start_s`: now_s() at the start of the program. `log` may be null; only one rank has one.
  RunEvents(double start_s, result::RunRecorder& recorder, std::unique_ptr<MlperfLog> log);
  // Ends the program's events; a run that did not get to its end (an exception is on its way) is told of as aborted.
  ~RunEvents() override;
  RunEvents(const RunEvents&) = delete;
  RunEvents& operator=(const RunEvents&) = delete;

  void run_started(const Position& at) override;
  void epoch_started(const Position& at) override;
  void step_ended(const Position& at, const result::StepSample&) override { last_ = at; }
  void epoch_ended(const Position& at) override;
  void evaluation_started(const Position& at) override;
  void evaluation_predicted(const Position& at, bool training_continues) override;
  void evaluated(const Position& at, const result::Evaluation& evaluation) override;
  void checkpoint_started(const Position& at) override { add(result::EventKind::kCheckpointStart, at); }
  void checkpoint_ended(const Position& at) override { add(result::EventKind::kCheckpointStop, at); }
  void run_ended(const Ending& ending) override;

 private:
  void tell(const result::Event& event);
  void add(result::EventKind kind, const Position& at, result::Json values = result::Json::object());

  result::RunRecorder& recorder_;
  std::unique_ptr<MlperfLog> log_;
  result::EventLog events_;
  Position last_;                  // where an exception may find the run
  std::int64_t epoch_images_ = 0;  // done when the epoch started
  bool running_ = false;
};

}  // namespace ttt::train
