// What a run tells those who follow it: its log, its checkpoints, the terminal, the tools that try what happens when something breaks.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "result/run_record.h"

namespace ttt::train {

// How the run ended when nothing was thrown.
struct Ending {
  result::Verdict verdict = result::Verdict::kNotConverged;
  std::string reason;
  bool to_be_resumed = false;  // interrupted as asked, with all saved: the same command goes on
};

// Where a run stands. Epochs count from 1, as MLPerf's rules do; steps and images are those done.
struct Position {
  std::int64_t step = 0, total_steps = 0;
  std::int64_t epoch = 1;  // of the step that starts or has ended: after an epoch's last step still that epoch
  std::int64_t images = 0;
};

// What listeners keep across an interruption: bytes of any kind, by a name of the listener's own.
using Sections = std::map<std::string, std::string>;

// Called on every rank at the same places of the run, listener by listener in the order in which they were given, so a call may be
// collective over the ranks. What a call throws ends the run. Everything is called on the thread that takes the steps.
class Listener {
 public:
  virtual ~Listener() = default;
  virtual void run_started(const Position&) {}    // the clock runs; after the last thing that may be done before it
  virtual void epoch_started(const Position&) {}  // also of an epoch that a resumed run enters half-way
  virtual void step_starts(const Position&) {}
  // The weights are updated and all ranks agree that the losses are finite. On a device the next step may run already, unless looks_at() said that the
  // weights, the momentum or the gradients of this one will be looked at: then reduced gradients still lie in the parameters (a sum over ranks).
  virtual void step_ended(const Position&, const result::StepSample&) {}
  virtual bool looks_at(const Position& /*of step_ended*/) const { return false; }  // the same on every rank
  virtual void epoch_ended(const Position&) {}  // before the evaluation that follows it
  virtual void evaluation_started(const Position&) {}
  virtual void evaluation_predicted(const Position&, bool /*training_goes_on*/) {}  // the model is still the one that was evaluated; AP is not known yet
  virtual void evaluated(const Position& /*of evaluation_started*/, const result::Evaluation&) {}
  virtual void checkpoint_started(const Position&) {}  // training stands still from here
  virtual void checkpoint_ended(const Position&) {}    // and goes on, while the file is written
  virtual void run_ended(const Ending&) {}  // the clock has stopped; not after an exception, nor where the run is to be resumed
  // Between two steps or after an evaluation: what this listener needs to go on from here. Rank 0's sections are kept. Training stands still.
  virtual void save(Sections&) {}
  // Of a run that goes on from there, before run_started: rank 0's sections, on every rank.
  virtual void restore(const Sections&) {}
};

// How far a run is that a checkpoint resumes; zero for a run that starts.
struct Progress {
  std::int64_t step = 0, images = 0;
};

// Saves the state of a run between its steps. The trainer says when; src/checkpoint has the one that writes files.
class Checkpointer {
 public:
  virtual ~Checkpointer() = default;
  virtual Progress progress() const = 0;
  // Once the run's clock runs: gives listeners their sections, and notes in the record that the run resumes.
  virtual void resumed(std::span<Listener* const> listeners) = 0;
  // Whether this rank wants a checkpoint after `step` steps: the ranks agree on it elsewhere.
  virtual bool due(std::int64_t step) const = 0;
  // Collective. Copies the state, and returns while it is written.
  virtual void save(const Position& at, std::span<Listener* const> listeners) = 0;
  // Collective: saves, waits, and notes the interruption. Empty where there is no checkpoint to resume from.
  virtual std::optional<result::Interruption> interrupt(const Position& at, std::span<Listener* const> listeners,
                                                        const std::string& signal) = 0;
  virtual void finish() = 0;  // waits until what was saved last is written, and records it
};

}  // namespace ttt::train
