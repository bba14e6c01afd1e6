#include "ablations/runner/train_arm.h"

#include <cmath>
#include <numeric>

#include "core/error.h"

namespace ttt::ablations {
namespace {

Run build(train::Recipe recipe, const Variant& variant, const comm::World& world, const harness::RunContext& context) {
  variant.change(recipe);
  Run run = build_run(recipe, world, context);
  if (variant.rebuild) variant.rebuild(run);
  return run;
}

void wait_until(double moment_s) {
  while (now_s() < moment_s) {
  }
}

}  // namespace

TrainArm::TrainArm(const train::Recipe& recipe, const Variant& variant, const comm::World& world, const harness::RunContext& context)
    : run_(build(recipe, variant, world, context)), planted_(variant.planted),
      loop_(run_.recipe, run_.parts, run_.order->steps_per_epoch(), *run_.gradients) {
  run_.parts.loader->pause(true);
}

std::vector<double> TrainArm::block(int steps) {
  std::vector<double> seconds;
  bool finite = true;
  run_.parts.loader->pause(false);  // it stands still during the other side's turn: it may neither work ahead nor take that side's time
  run_.control->barrier();
  loop_.phases().start_step();
  for (int i = 0; i < steps; ++i) {
    const double start_s = now_s();
    result::StepSample sample = loop_.next(true);
    if (planted_ > 0) {
      const double done_s = now_s();
      wait_until(done_s + planted_ * (done_s - start_s));
    }
    loop_.phases().end_step(sample);
    seconds.push_back(sample.step_s);
    for (std::size_t p = 0; p < phase_s_.size(); ++p) phase_s_[p] += sample.phase_s[p];
    losses_.insert(losses_.end(), sample.loss.begin(), sample.loss.end());
    for (const double loss : sample.loss) finite &= std::isfinite(loss);
  }
  run_.parts.loader->pause(true);
  counted_ += steps;
  // When the last rank had finished each step, and from that the steps: their sum is what the block took, also where ranks do not wait for
  // each other in every step.
  std::partial_sum(seconds.begin(), seconds.end(), seconds.begin());
  seconds.push_back(finite ? 0 : 1);
  run_.control->all_reduce_max(seconds.data(), seconds.size());
  if (seconds.back() > 0)
    throw Incorrect("A loss is not finite, so what the steps would be timed for is no training. Lower train.schedule.lr or lengthen train.schedule.warmup_steps.");
  seconds.pop_back();
  std::adjacent_difference(seconds.begin(), seconds.end(), seconds.begin());
  return seconds;
}

std::array<double, result::kPhaseNames.size()> TrainArm::phases() {
  auto mean = phase_s_;
  run_.control->all_reduce_sum(mean.data(), mean.size());
  for (double& s : mean) s /= static_cast<double>(counted_) * run_.control->size();
  return mean;
}

}  // namespace ttt::ablations
