// The run's clocks: phases of a step, and the phases of a run.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>

#include "core/clock.h"
#include "core/trace.h"
#include "result/run_record.h"

namespace ttt::result {

enum class Phase { kDataWait, kForward, kBackward, kCommExposed, kOptimizer, kOther };
static_assert(static_cast<std::size_t>(Phase::kOther) + 1 == kPhaseNames.size());
// A trace calls the phases by the same names, and numbers them alike.
static_assert([] {
  for (std::size_t i = 0; i < kPhaseNames.size(); ++i)
    if (kPhaseNames[i] != trace::kEventNames[i]) return false;
  return true;
}());

// Splits a step's time: at any moment one phase runs. The host's clock; on a GPU the phases are the host's view.
//
//   clock.start_step();             // phase: other
//   clock.enter(Phase::kDataWait);  batch = next();
//   clock.enter(Phase::kForward);   ...
//   clock.end_step(sample);         // fills step_s and phase_s; the next step starts here
class PhaseClock {
 public:
  using Now = double (*)();
  explicit PhaseClock(Now now = now_s) : now_(now) { start_step(); }

  // Phases and steps are recorded there from now on, with the readings of which the sums are made; null: nowhere.
  void trace(trace::Lane* lane) { lane_ = lane; }
  // The running phase is stored there from now on, as a number, for other threads to see; null: nowhere.
  void show(std::atomic<std::int32_t>* shown) { shown_ = shown; }

  // Called with its name as each phase begins, for a profiler's ranges; null: nobody is.
  using Announce = void(const char* phase);
  void announce(Announce* announce) { announce_ = announce; }

  void start_step() {
    spent_ = {};
    become(Phase::kOther);
    step_start_ = mark_ = now_();
  }
  // Ends the running phase. Phases may be entered more than once in a step.
  void enter(Phase phase) {
    const double now = now_();
    spent_[static_cast<std::size_t>(current_)] += now - mark_;
    if (lane_ && now > mark_)
      lane_->add({.start_s = mark_, .end_s = now, .event = static_cast<trace::Event>(current_)});
    mark_ = now;
    become(phase);
  }
  void end_step(StepSample& sample) {
    enter(Phase::kOther);
    sample.step_s = mark_ - step_start_;
    if (lane_)
      lane_->add({.start_s = step_start_,
          .end_s = mark_,
          .number = static_cast<std::int32_t>(sample.step),
          .event = trace::Event::kStep});
    sample.phase_s = spent_;
    // What the additions rounded away belongs to `other`, so that the phases add up to the step.
    double named = 0;
    for (std::size_t i = 0; i + 1 < spent_.size(); ++i) named += spent_[i];
    sample.phase_s.back() = sample.step_s > named ? sample.step_s - named : 0;
    spent_ = {};
    step_start_ = mark_;
  }

 private:
  void become(Phase phase) {
    current_ = phase;
    if (shown_) shown_->store(static_cast<std::int32_t>(phase), std::memory_order_relaxed);
    if (announce_) announce_(kPhaseNames[static_cast<std::size_t>(phase)].data());
  }

  Now now_;
  std::array<double, kPhaseNames.size()> spent_{};
  Phase current_ = Phase::kOther;
  double step_start_ = 0, mark_ = 0;
  trace::Lane* lane_ = nullptr;
  std::atomic<std::int32_t>* shown_ = nullptr;
  Announce* announce_ = nullptr;
};

// init | run (train, evaluation) | the rest. Made first thing in main; read() at any time, from any thread.
class RunClock {
 public:
  using Now = double (*)();
  explicit RunClock(double start_s = now_s(), Now now = now_s) : now_(now), start_(start_s) {}

  // Of a run that resumes an earlier one. What its clocks showed at the moment whose state the checkpoint holds,
  // and the seconds since then by the calendar's clock. They are lost until start_run(), and part of the run. Never
  // less than this process has lived: a calendar's clock may be set back.
  void go_on(const Clocks& earlier, double since_s) {
    const std::lock_guard lock(mutex_);
    const double now = now_();
    lost_from_ = now - std::max(since_s, now - start_);
    run_start_ = lost_from_ - earlier.run_s;
    start_ = run_start_ - earlier.init_s;
    evaluation_s_ = earlier.run_s - earlier.train_s - earlier.lost_s;
    lost_s_ = earlier.lost_s;
    started_ = resuming_ = true;
  }
  void start_run() {
    const std::lock_guard lock(mutex_);
    if (!resuming_) run_start_ = now_();
    else lost_s_ += now_() - lost_from_;
    started_ = true;
    resuming_ = false;
  }
  // Training stands still between these two. Returns the evaluation's duration.
  void start_evaluation() { set(evaluation_start_, evaluating_); }
  double end_evaluation() {
    const std::lock_guard lock(mutex_);
    const double duration = evaluating_ ? now_() - evaluation_start_ : 0;
    evaluation_s_ += duration;
    evaluating_ = false;
    return duration;
  }
  void end_run() { set(run_end_, ended_); }

  // Whether start_run() was called.
  bool running() const {
    const std::lock_guard lock(mutex_);
    return started_ && !resuming_;
  }
  // The moment at which the run started, on this process's now_s(); 0 before.
  double run_start_s() const {
    const std::lock_guard lock(mutex_);
    return run_start_;
  }
  // Between start_evaluation() and end_evaluation().
  bool evaluating() const {
    const std::lock_guard lock(mutex_);
    return evaluating_;
  }
  // Since the run started; 0 before.
  double wall_s() const { return read().run_s; }

  Clocks read() const {
    const std::lock_guard lock(mutex_);
    const double now = now_();
    Clocks c;
    c.total_s = now - start_;
    c.init_s = (started_ ? run_start_ : now) - start_;
    c.run_s = started_ ? (ended_ ? run_end_ : now) - run_start_ : 0;
    c.lost_s = lost_s_ + (resuming_ ? now - lost_from_ : 0);
    c.train_s = c.run_s - c.lost_s - evaluation_s_ - (evaluating_ ? now - evaluation_start_ : 0);
    return c;
  }

 private:
  void set(double& moment, bool& flag) {
    const std::lock_guard lock(mutex_);
    moment = now_();
    flag = true;
  }

  mutable std::mutex mutex_;
  Now now_;
  double start_, run_start_ = 0, run_end_ = 0, evaluation_start_ = 0, evaluation_s_ = 0, lost_from_ = 0, lost_s_ = 0;
  bool started_ = false, ended_ = false, evaluating_ = false, resuming_ = false;
};

}  // namespace ttt::result
