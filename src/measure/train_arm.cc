#include "measure/train_arm.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "core/error.h"

namespace ttt::ablations {
namespace {

Run build(const Bench& bench, const Variant& variant, const comm::Team& team) {
  train::Recipe recipe = bench.recipe;
  if (variant.change) variant.change(recipe);
  Components components = components_of(recipe);
  if (variant.components) variant.components(components);
  return assemble(recipe, components, team, bench.context);
}

void wait_until(double moment_s) {
  while (now_s() < moment_s) {}
}

}  // namespace

TrainArm::TrainArm(const Bench& bench, const Variant& variant, const comm::Team& team)
    : run_(build(bench, variant, team)), planted_(variant.planted), enter_(variant.enter),
      loop_(run_.recipe.train, run_.parts, *run_.gradients) {
  if (auto telemetry = make_telemetry(run_, "ablation", nullptr)) listeners_.push_back(std::move(telemetry));
  run_.parts.loader->pause(true);
}

std::vector<double> TrainArm::block(int steps) {
  std::vector<double> seconds, busy;
  std::vector<result::StepSample> open;  // steps without losses
  bool finite = true;
  phases_.clear();
  set_process(run_.recipe);  // the other side may have set its own
  if (enter_) enter_();
  // it stands still during the other side's turn: it may neither work ahead nor take that side's time
  run_.parts.loader->pause(false);
  run_.control->barrier();
  const Usage before = Usage::now();
  loop_.phases().start_step();
  for (int i = 0; i < steps; ++i) {
    const double start_s = now_s();
    for (const auto& listener : listeners_) listener->step_starts({.step = loop_.step()});
    open.push_back(loop_.start(true));
    // As in a training: on a device a step's losses come while the next one runs, so one step stays open.
    const bool stays = loop_.late() && i + 1 < steps &&
                       std::none_of(listeners_.begin(), listeners_.end(),
                           [&](const auto& listener) { return listener->needs_sync({.step = loop_.step()}); });
    const auto settled = std::span(open).first(open.size() - (stays ? 1 : 0));
    for (result::StepSample& sample : settled) {
      loop_.settle(sample);
      for (const auto& listener : listeners_) listener->step_ended({.step = sample.step + 1}, sample);
      losses_.insert(losses_.end(), sample.loss.begin(), sample.loss.end());
      for (const double loss : sample.loss) finite &= std::isfinite(loss);
    }
    if (planted_ > 0) {
      const double done_s = now_s();
      wait_until(done_s + planted_ * (done_s - start_s));
    }
    result::StepSample& sample = open.back();
    loop_.phases().end_step(sample);
    seconds.push_back(sample.step_s);
    busy.push_back(sample.step_s - sample.phase_s[static_cast<std::size_t>(result::Phase::kCommExposed)]);
    phases_.push_back(sample.phase_s);
    open.erase(open.begin(), open.begin() + std::ssize(settled));
  }
  usage_ += Usage::now() - before;
  run_.parts.loader->pause(true);
  counted_ += steps;
  straggler_sum_ += straggler_indices(busy);
  if (!phases_.empty()) run_.control->all_reduce_sum(phases_.front().data(), phases_.size() * phases_.front().size());
  for (harness::PhaseTimes& step : phases_)
    for (double& phase : step) phase /= run_.control->size();
  // When the last rank had finished each step, and from that the steps. Their sum is what the block took, also where
  // ranks do not wait for each other in every step.
  std::partial_sum(seconds.begin(), seconds.end(), seconds.begin());
  seconds.push_back(finite ? 0 : 1);
  run_.control->all_reduce_max(seconds.data(), seconds.size());
  if (seconds.back() > 0)
    throw Incorrect(
        "A loss is not finite, so what the steps would be timed for is no training. Lower train.schedule.lr or "
        "lengthen train.schedule.warmup_steps.");
  seconds.pop_back();
  std::adjacent_difference(seconds.begin(), seconds.end(), seconds.begin());
  return seconds;
}

// The sum over the block's steps of (the busiest rank's time / the mean over ranks), where waiting for other ranks is
// not being busy.
double TrainArm::straggler_indices(const std::vector<double>& busy) {
  std::vector<double> largest = busy, mean = busy;
  run_.control->all_reduce_max(largest.data(), largest.size());
  run_.control->all_reduce_sum(mean.data(), mean.size());
  double sum = 0;
  for (std::size_t i = 0; i < busy.size(); ++i) sum += largest[i] / (mean[i] / run_.control->size());
  return sum;
}

Counters TrainArm::usage() {
  Counters all = sum_over_ranks(usage_.per(counted_), *run_.control);
  all["straggler_index"] = straggler_sum_ / static_cast<double>(counted_);
  return all;
}

Counters TrainArm::operators(int steps) {
  Counters mine = operators_of(steps, [&] { block(steps); });
  const bool travels = !run_.parts.reducer->traits().idle;
  mine["reduced_bytes"] = travels ? static_cast<double>(run_.parts.model->parameters().flat_gradients().nbytes()) : 0;
  return sum_over_ranks(mine, *run_.control);
}

}  // namespace ttt::ablations
