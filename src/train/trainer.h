// Training to a target over the ranks of a run.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "core/epochs.h"
#include "result/run_recorder.h"
#include "train/config.h"
#include "train/evaluation_plan.h"
#include "train/listener.h"
#include "train/step_loop.h"

namespace ttt::train {

// What the program around the trainer watches and is told.
struct Observer {
  result::RunRecorder& recorder;
  result::RunClock& clock;
  std::function<std::string()> interrupted;  // the name of the signal that asked for the end, "" while there is none
  std::vector<Listener*> listeners;          // in the order in which they are told; alive until the run has ended
  Checkpointer* checkpoints = nullptr;       // null: the run's state is not saved, and it begins at its first step
};

class Trainer {
 public:
  // `comm` carries gradients, `control` the few numbers on which ranks agree at each step: they may be in flight
  // together. The loader of `parts` begins where the observer's checkpoints say. Throws UsageError where the run is to
  // end before that.
  Trainer(const TrainConfig& config, Parts parts, Epochs epochs, comm::Communicator& comm, comm::Communicator& control,
      const Observer& observer);

  // Until the target, the epoch or step limit, a signal or a loss that is not finite (throws Incorrect); every rank
  // leaves at the same step. Then, off the clock, writes train.save_weights where it is set. A signal is answered after
  // the step or evaluation that is under way: with a checkpoint, and SIGUSR1 by an Ending that is to be resumed; else
  // it throws Interrupted.
  Ending run();

 private:
  struct Agreement {
    std::string interrupted;
    int not_finite = -1;    // the lowest rank with a loss that is not finite
    std::int64_t step = 0;  // of it
    bool checkpoint = false;
    bool scored = false;  // the AP of the open evaluation is known
  };
  // An evaluation whose AP is not known yet.
  struct OpenEvaluation {
    Position at;
    result::Evaluation record;
  };
  Ending train();
  Agreement train_step();
  // Closes the oldest of the open steps, up to `stay` of them: their losses are read, recorded and told. `step_ends`:
  // the newest has been taken just now.
  Agreement settle(std::size_t stay, bool step_ends);
  Agreement agree(std::span<const result::StepSample> settled, bool step_ends);
  // What follows from a step or an evaluation that is done; an ending where the run ends with it.
  std::optional<Ending> answer(const Agreement& agreed);
  std::optional<Ending> evaluate_where_due();
  bool evaluation_is_due() const;
  void save_checkpoint(const Position& at);
  void start_evaluation();
  // Of the open evaluation; an ending where the target is reached.
  std::optional<Ending> finish_evaluation();
  void average_running_statistics();
  double epochs_of(const result::Evaluation& e) const { return epochs_.after(e.step); }
  Position position(std::int64_t steps_done, std::int64_t step_of_epoch) const;
  Position before_step() const { return position(loop_.step(), loop_.step()); }
  Position after_step() const { return position(loop_.step(), loop_.step() - 1); }
  // Each listener in turn: tell(&Listener::step_starts, before_step()).
  template <class Call, class... Args> void tell(Call call, const Args&... args) {
    for (Listener* listener : observer_.listeners) (listener->*call)(args...);
  }

  const TrainConfig& config_;
  Parts parts_;
  comm::Communicator& control_;
  Observer observer_;
  StepLoop loop_;
  const Epochs epochs_;
  std::int64_t total_steps_ = 0;
  EvaluationPlan evaluations_;
  std::int64_t images_ = 0;
  std::vector<result::StepSample> open_;  // steps taken whose losses are not on the host yet
  std::optional<OpenEvaluation> evaluation_;
  std::optional<result::Evaluation> last_;  // evaluation, also of the run that this one resumes
};

}  // namespace ttt::train
