// Saves a run between its steps, and puts a run into the state that was saved.
//
// The thread that takes the steps copies; another one writes. What depends on the step alone is not saved, because it is computed: the order of
// images, flips and samples are functions of (seed, step or epoch, image), the learning rate of the step.
#pragma once

#include <future>
#include <span>

#include "comm/communicator.h"
#include "models/parameters.h"
#include "result/phase_clock.h"
#include "result/run_recorder.h"
#include "checkpoint/checkpoint_folder.h"
#include "train/listener.h"
#include "train/optimizers/optimizer.h"
#include "run/recipe.h"

namespace ttt::train {

// How far a run is.
struct Progress {
  std::int64_t step = 0, images = 0;
};

// What is saved and restored; all outlives the checkpoints.
struct CheckpointParts {
  const Recipe& recipe;  // resolved
  result::Json data;     // what names the data set
  std::string run_id;
  std::int64_t steps_per_epoch = 1;
  model::ParameterStore& parameters;
  Optimizer& optimizer;
  comm::Communicator& control;
  result::RunRecorder& recorder;
  result::RunClock& clock;
  std::function<void(const std::string& sentence)> warn;  // beside the record; on rank 0
};

class Checkpoints {
 public:
  // Collective; `earlier` is rank 0's. Where it has a checkpoint, parameters, buffers, momentum, record and clock become what they were. Throws
  // UsageError where the checkpoint is of another recipe or data set, DataError where it is of another model.
  Checkpoints(CheckpointParts parts, Earlier earlier);
  Checkpoints(const Checkpoints&) = delete;
  Checkpoints& operator=(const Checkpoints&) = delete;

  const Progress& progress() const { return progress_; }  // zero for a run that starts
  // Once the run's clock runs: gives listeners their sections, and notes in the record that the run goes on.
  void resumed(std::span<Listener* const> listeners);
  // Whether this rank wants a checkpoint after `step` steps: the ranks agree on it elsewhere.
  bool due(std::int64_t step) const;
  // Collective. Waits for the one before, copies, and returns while the file is written. One that cannot be written costs a warning, once until
  // one can be again: the run is worth more than its checkpoint.
  void save(const Position& at, std::span<Listener* const> listeners, const std::string& signal = "");
  // Collective: saves, waits, and notes the interruption; SIGUSR1 puts the marker beside. Empty where the folder has nothing to go on from.
  std::optional<result::Interruption> interrupt(const Position& at, std::span<Listener* const> listeners, const std::string& signal);
  // Waits until what was saved last is written, and records it.
  void finish();

 private:
  struct Outcome {
    double write_s = 0;
    std::int64_t bytes = 0;
    std::string error;
  };
  void check(const Checkpoint& checkpoint);
  void restore(const Checkpoint* checkpoint);
  void restore_record(const Checkpoint* checkpoint);
  void restore_model(const Checkpoint* checkpoint);
  void restore_per_rank(const Checkpoint* checkpoint);
  void stage(std::vector<std::string> per_rank);
  std::vector<std::string> gather_per_rank() const;
  bool buffers_per_rank() const { return parts_.recipe.model.backbone.norm == "batch"; }
  Outcome write(CheckpointState state, const result::StepSeries& later);
  void add_arrays(const AddArray& add) const;
  void warn(const std::string& sentence);

  CheckpointParts parts_;
  std::shared_ptr<CheckpointFolder> folder_;  // on rank 0, where checkpoints are written
  bool writes_ = false;                       // on every rank
  std::int64_t interval_ = 0;                 // steps; 0: none
  Progress progress_;
  std::optional<result::Resume> resume_;
  double lost_before_s_ = 0;
  Sections sections_;
  std::size_t seen_ = 0;     // steps of the recorder that are in steps_ already
  std::int64_t saved_step_ = -1;
  double saved_s_ = 0;
  bool failed_ = false;      // the last one could not be written
  result::CheckpointSample sample_;

  // Rank 0's copies, allocated once. The training thread fills them, the writing thread reads them, never at the same time. That thread touches
  // nothing of the model, which may go before it has ended.
  std::vector<model::Parameter> layout_;  // without their values
  std::vector<float> weights_, momentum_, fixed_;
  std::vector<std::string> per_rank_;
  mutable std::vector<float> scratch_;
  result::StepSeries steps_;
  std::future<Outcome> writing_;  // last: its end is waited for before the rest goes
};

}  // namespace ttt::train
