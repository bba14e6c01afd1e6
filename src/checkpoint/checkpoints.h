// Saves a run between its steps, and puts a run into the state that was saved.
//
// The thread that takes the steps copies; another one writes. What depends on the step alone is not saved, because it
// is computed. The order of images, flips and samples are functions of (seed, step or epoch, image), the learning rate
// of the step.
#pragma once

#include <future>
#include <span>

#include "checkpoint/checkpoint_folder.h"
#include "comm/communicator.h"
#include "core/epochs.h"
#include "models/parameters.h"
#include "result/phase_clock.h"
#include "result/run_recorder.h"
#include "train/listener.h"
#include "train/optimizers/optimizer.h"

namespace ttt::train {

// What is saved and restored; all outlives the checkpoints.
struct CheckpointParts {
  CheckpointConfig config;
  result::Json recipe;  // all settings, resolved
  result::Json data;    // what names the data set
  std::string run_id;
  Epochs epochs;
  bool buffers_per_rank = false;  // each rank's running statistics are its own
  model::ParameterStore& parameters;
  Optimizer& optimizer;
  comm::Communicator& control;
  result::RunRecorder& recorder;
  result::RunClock& clock;
  std::function<void(const std::string& sentence)> warn;  // beside the record; on rank 0
};

class Checkpoints final : public Checkpointer {
 public:
  // Collective; `earlier` is rank 0's. Where it has a checkpoint, parameters, buffers, the optimizer's state, record
  // and clock become what they were. Throws UsageError where the checkpoint is of another recipe or data set, DataError
  // where it is of another model.
  Checkpoints(CheckpointParts parts, Earlier earlier);
  Checkpoints(const Checkpoints&) = delete;
  Checkpoints& operator=(const Checkpoints&) = delete;

  Progress progress() const override { return progress_; }
  void resumed(std::span<Listener* const> listeners) override;
  bool due(std::int64_t step) const override;
  // Waits for the checkpoint before. One that cannot be written costs a warning, once until one can be again: the run
  // is worth more than its checkpoint.
  void save(const Position& at, std::span<Listener* const> listeners) override { save(at, listeners, ""); }
  // SIGUSR1 puts the marker beside.
  std::optional<result::Interruption> interrupt(
      const Position& at, std::span<Listener* const> listeners, const std::string& signal) override;
  void finish() override;

 private:
  struct Outcome {
    double write_s = 0;
    std::int64_t bytes = 0;
    std::string error;
  };
  void save(const Position& at, std::span<Listener* const> listeners, const std::string& signal);
  void check(const Checkpoint& checkpoint);
  void restore(const Checkpoint* checkpoint);
  void restore_record(const Checkpoint* checkpoint);
  void restore_model(const Checkpoint* checkpoint);
  void restore_per_rank(const Checkpoint* checkpoint);
  void stage(std::vector<std::string> per_rank);
  std::vector<std::string> gather_per_rank() const;
  Outcome write(CheckpointState state, const result::StepSeries& later);
  void add_arrays(const AddArray& add) const;
  void warn(const std::string& sentence);

  CheckpointParts parts_;
  std::shared_ptr<CheckpointFolder> folder_;  // on rank 0, where checkpoints are written
  bool writes_ = false;                       // on every rank
  Progress progress_;
  std::optional<result::Resume> resume_;
  double lost_before_s_ = 0;
  Sections sections_;
  std::size_t seen_ = 0;  // steps of the recorder that are in steps_ already
  std::int64_t saved_step_ = -1;
  double saved_s_ = 0;
  bool failed_ = false;  // the last one could not be written
  result::CheckpointSample sample_;

  // Rank 0's copies, allocated once. The training thread fills them, the writing thread reads them, never at the same
  // time. That thread touches nothing of the model, which may go before it has ended.
  std::vector<model::Parameter> layout_;  // without their values
  struct Staged {                         // a tensor of the optimizer's state
    std::string name;
    data::h5::Dims dims;
    std::vector<float> values;
  };
  std::vector<float> weights_, fixed_;
  std::vector<Staged> optimizer_;
  std::vector<std::string> per_rank_;
  mutable std::vector<float> scratch_;
  result::StepSeries steps_;
  std::future<Outcome> writing_;  // last: its end is waited for before the rest goes
};

}  // namespace ttt::train
