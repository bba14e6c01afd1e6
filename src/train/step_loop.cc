#include "train/step_loop.h"

#include "core/error.h"
#include "core/foreign_error.h"
#include "train/graph_runner.h"

namespace ttt::train {

// So begins what torch throws in place of a wait that was forbidden (c10/cuda/CUDAFunctions.cpp).
constexpr const char* kForbiddenWait = "called a synchronizing";

StepLoop::StepLoop(const TrainConfig& config, Parts& parts, comm::Communicator& comm, std::int64_t steps_done)
    : parts_(parts), comm_(comm), step_(steps_done), runner_(make_step_runner(config.graphs, parts, comm)),
      uploader_(parts.device, parts.memory, *parts.preprocessor, config.copy_stream),
      losses_(parts.device, parts.memory, parts.place) {
  // Phases may be entered more than once: a step, nine spans of its phases, an evaluation, and some to spare.
  if (parts_.trace) lane_ = &parts_.trace->lane("main", 16);
  phases_.trace(lane_);
  phases_.announce(parts_.announce_phase);
  if (parts_.place) phases_.show(&parts_.place->stage);
}

void StepLoop::fetch(std::int64_t step) {
  phases_.enter(result::Phase::kDataWait);
  uploader_.wait();  // the loader takes the memory back
  uploader_.start(*parts_.loader->next(),
      {.seed = parts_.seed, .step = step, .lr = parts_.schedule->lr(step + 1), .gradient_scale = 1.0 / comm_.size()});
  fetched_ = true;
}

std::vector<at::Tensor> StepLoop::run(StepInputs inputs, const std::function<void()>& meanwhile) {
  const bool first = sizes_.insert(inputs.batch.images.sizes().vec()).second;
  if (first || !parts_.forbid_waits) return runner_->run(std::move(inputs), phases_, meanwhile);
  struct Forbidden {
    explicit Forbidden(const std::function<void(bool)>& forbid) : forbid(forbid) { forbid(true); }
    ~Forbidden() { forbid(false); }
    const std::function<void(bool)>& forbid;
  } const forbidden(parts_.forbid_waits);
  try {
    return runner_->run(std::move(inputs), phases_, meanwhile);
  } catch (const std::exception& e) {
    const std::string what = e.what();
    if (what.find(kForbiddenWait) == std::string::npos) throw;
    throw Error("In step " + std::to_string(step_) +
                " the host would wait for the device, which train.strict_sync forbids: " + shortened(what) +
                ". Choose what needs no wait (model.shapes = \"static\", ...) or train.strict_sync = false.");
  }
}

result::StepSample StepLoop::start(bool more) {
  if (parts_.trace) parts_.trace->before_step(step_);
  if (!fetched_) fetch(step_);
  StepInputs inputs = uploader_.take();
  fetched_ = false;
  const double lr = inputs.rates.lr;
  const std::int64_t images = inputs.batch.images.size(0) * comm_.size();
  const std::vector<at::Tensor> losses = run(std::move(inputs), [&] {
    if (more) fetch(step_ + 1);
  });
  losses_.push(losses);  // after all else: who waits for them has waited for the step
  return {.step = step_++, .images = images, .learning_rate = lr};
}

void StepLoop::settle(result::StepSample& sample) { sample.loss = losses_.pop(); }

result::StepSample StepLoop::next(bool more) {
  result::StepSample sample = start(more);
  settle(sample);
  return sample;
}

}  // namespace ttt::train
