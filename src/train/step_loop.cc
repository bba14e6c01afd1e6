#include "train/step_loop.h"

#include "train/device_batch.h"

namespace ttt::train {

StepLoop::StepLoop(const Recipe& recipe, Parts& parts, std::int64_t steps_per_epoch, comm::Communicator& comm, std::int64_t steps_done)
    : recipe_(recipe), parts_(parts), schedule_(recipe.train.schedule, recipe.train.global_batch, steps_per_epoch), comm_(comm),
      device_(recipe.device), step_(steps_done) {
  // Phases may be entered more than once: a step, nine spans of its phases, an evaluation, and some to spare.
  if (parts_.trace) lane_ = &parts_.trace->lane("main", 16);
  phases_.trace(lane_);
  if (parts_.place) phases_.show(&parts_.place->stage);
}

result::StepSample StepLoop::next(bool more) {
  if (parts_.trace) parts_.trace->before_step(step_);
  if (!batch_) {
    phases_.enter(result::Phase::kDataWait);
    batch_ = parts_.loader->next();
  }
  const model::DeviceBatch batch = to_device(*batch_, device_);
  const model::DrawKey key{.seed = static_cast<std::uint64_t>(recipe_.seed), .step = static_cast<std::uint64_t>(step_)};
  parts_.reducer->begin();
  const auto losses = parts_.step->forward_backward(batch, key, phases_);  // the reducer's hooks fire as gradients appear
  parts_.reducer->launch();

  phases_.enter(result::Phase::kDataWait);
  batch_ = more ? parts_.loader->next() : nullptr;

  phases_.enter(result::Phase::kCommExposed);
  parts_.reducer->finish();
  phases_.enter(result::Phase::kOptimizer);
  const double lr = schedule_.lr(step_ + 1);
  parts_.optimizer->step(lr, 1.0 / comm_.size());
  phases_.enter(result::Phase::kOther);

  result::StepSample sample{.step = step_++, .images = recipe_.train.global_batch, .learning_rate = lr};
  for (int i = 0; i < model::kLosses; ++i) sample.loss[i] = losses[i].item<double>();
  return sample;
}

}  // namespace ttt::train
