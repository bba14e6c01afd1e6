// One training step after another: fetch, forward and backward, reduction, update. The trainer runs it to a target; an
// ablation runs two of them in turns.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "comm/communicator.h"
#include "comm/heartbeat.h"
#include "core/trace.h"
#include "cuda/graphs.h"
#include "data/loader.h"
#include "eval/workload.h"
#include "models/gradient_hooks.h"
#include "result/phase_clock.h"
#include "train/config.h"
#include "train/device_batch.h"
#include "train/optimizers/optimizer.h"
#include "train/schedules/schedule.h"
#include "train/step.h"

namespace ttt::train {

// The parts of a run, built from its recipe; an ablation exchanges one of them.
struct Parts {
  at::Device device = at::kCPU;
  // of the host, for what the device copies; outlives the parts
  std::pmr::memory_resource* memory = std::pmr::new_delete_resource();
  cuda::GraphDevice* graphs = nullptr;  // records the device's work, null: it cannot; outlives the parts
  result::PhaseClock::Announce* announce_phase = nullptr;  // Accelerator's
  std::function<void(bool)> forbid_waits;  // Accelerator's, where the host may not wait within a step; else empty
  trace::Recorder* trace = nullptr;        // where the steps are recorded, null: nowhere; outlives the parts
  // where the thread that takes the steps says at which it is, null: nowhere; outlives the parts
  comm::RankState* place = nullptr;
  std::int64_t seed = 1;  // of the random draws of the steps
  std::unique_ptr<data::Loader> loader;
  std::unique_ptr<model::Model> model;
  std::unique_ptr<model::Preprocessor> preprocessor;  // of images that come as bytes
  std::unique_ptr<LossScaler> scaler;                 // of step and optimiser; null where the loss is not scaled
  std::unique_ptr<Step> step;
  std::unique_ptr<Reducer> reducer;
  std::unique_ptr<model::GradientHooks> hooks;  // of the reducer, where it overlaps backward
  std::unique_ptr<Optimizer> optimizer;
  std::unique_ptr<Schedule> schedule;
  std::unique_ptr<eval::Evaluator> evaluator;
  result::Metrics target;  // that ends the run

  // After the step. The reducer and its hooks belong together: hooks of an old reducer must go before a new one's are
  // set.
  void set_reducer(std::unique_ptr<Reducer> next) {
    hooks.reset();
    reducer = std::move(next);
    if (reducer->traits().overlaps_backward)
      hooks = std::make_unique<model::GradientHooks>(
          model->parameters(), [r = reducer.get()](std::size_t i) { r->ready(i); }, step->parts());
  }
};

class StepLoop {
 public:
  // `parts` and `comm`, which carries the gradients, outlive the loop. `steps_done`: by the run that this one resumes
  // with; the loader begins there.
  StepLoop(const TrainConfig& config, Parts& parts, comm::Communicator& comm, std::int64_t steps_done = 0);

  // The next step; `more`: another follows, so its batch is fetched while gradients travel. The phase clock stays in
  // Phase::kOther and the caller ends the step on it; times and losses are not filled in.
  result::StepSample start(bool more);
  // Fills in the losses of the oldest step that has none. On a device that waits for the step, so it is best called
  // when the next one was started.
  void settle(result::StepSample& sample);
  bool late() const { return losses_.late(); }  // whether settling waits
  // Both at once.
  result::StepSample next(bool more);

  std::int64_t step() const { return step_; }  // steps done
  result::PhaseClock& phases() { return phases_; }
  const StepRunner& runner() const { return *runner_; }
  trace::Lane* lane() { return lane_; }  // of the thread that takes the steps; null where nothing is recorded

 private:
  Parts& parts_;
  comm::Communicator& comm_;
  std::int64_t step_;
  result::PhaseClock phases_;
  trace::Lane* lane_ = nullptr;
  void fetch(std::int64_t step);  // its batch and numbers, and starts to copy them

  // Runs the step; of each size of images the first makes the anchors, for which the host waits, and may.
  std::vector<at::Tensor> run(StepInputs inputs, const std::function<void()>& meanwhile);

  std::unique_ptr<StepRunner> runner_;
  std::set<std::vector<std::int64_t>> sizes_;  // of the images so far
  Uploader uploader_;
  LossQueue losses_;
  bool fetched_ = false;
};

}  // namespace ttt::train
