#include "train/step_loop.h"

namespace ttt::train {

StepLoop::StepLoop(const Recipe& recipe, Parts& parts, std::int64_t steps_per_epoch, comm::Communicator& comm, std::int64_t steps_done)
    : recipe_(recipe), parts_(parts), schedule_(recipe.train.schedule, recipe.train.global_batch, steps_per_epoch), comm_(comm),
      step_(steps_done), uploader_(parts.device), losses_(parts.device, parts.memory) {
  // Phases may be entered more than once: a step, nine spans of its phases, an evaluation, and some to spare.
  if (parts_.trace) lane_ = &parts_.trace->lane("main", 16);
  phases_.trace(lane_);
  if (parts_.place) phases_.show(&parts_.place->stage);
}

void StepLoop::fetch() {
  phases_.enter(result::Phase::kDataWait);
  uploader_.wait();  // the loader takes the memory back
  uploader_.start(*parts_.loader->next());
  fetched_ = true;
}

result::StepSample StepLoop::start(bool more) {
  if (parts_.trace) parts_.trace->before_step(step_);
  if (!fetched_) fetch();
  const model::DeviceBatch batch = uploader_.take();
  fetched_ = false;
  const model::DrawKey key{.seed = static_cast<std::uint64_t>(recipe_.seed), .step = static_cast<std::uint64_t>(step_)};
  parts_.reducer->begin();
  const auto losses = parts_.step->forward_backward(batch, key, phases_);  // the reducer's hooks fire as gradients appear
  parts_.reducer->launch();

  if (more) fetch();

  phases_.enter(result::Phase::kCommExposed);
  parts_.reducer->finish();
  phases_.enter(result::Phase::kOptimizer);
  const double lr = schedule_.lr(step_ + 1);
  parts_.optimizer->step(lr, 1.0 / comm_.size());
  phases_.enter(result::Phase::kOther);
  losses_.push(losses);  // after all else: who waits for them has waited for the step
  return {.step = step_++, .images = recipe_.train.global_batch, .learning_rate = lr};
}

void StepLoop::settle(result::StepSample& sample) { sample.loss = losses_.pop(); }

result::StepSample StepLoop::next(bool more) {
  result::StepSample sample = start(more);
  settle(sample);
  return sample;
}

}  // namespace ttt::train
