#include "train/schedules/schedule.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace ttt::train {
namespace {

double batch_factor(const ScheduleConfig& c, std::int64_t global_batch) {
  if (c.reference_batch == 0 || c.batch_rule == "none") return 1;
  const double ratio = static_cast<double>(global_batch) / static_cast<double>(c.reference_batch);
  return c.batch_rule == "sqrt" ? std::sqrt(ratio) : ratio;
}

}  // namespace

void check(const ScheduleConfig& config) {
  const bool points = !config.decay_steps.empty() || !config.decay_epochs.empty();
  if (config.kind != "step_decay" && points)
    throw UsageError(
        "train.schedule.decay_steps and decay_epochs are for train.schedule.kind = \"step_decay\", not \"" +
        config.kind + "\": leave them empty, or change the kind.");
  if (!config.decay_steps.empty() && !config.decay_epochs.empty())
    throw UsageError("train.schedule.decay_steps and train.schedule.decay_epochs are both set: keep one of them.");
  if (!std::is_sorted(config.decay_steps.begin(), config.decay_steps.end()) ||
      !std::is_sorted(config.decay_epochs.begin(), config.decay_epochs.end()))
    throw UsageError("train.schedule.decay_steps and train.schedule.decay_epochs must ascend: put them in order.");
}

Schedule::Schedule(const ScheduleConfig& config, const ScheduleInputs& inputs)
    : config_(config), base_lr_(config.lr * batch_factor(config, inputs.global_batch)), inputs_(inputs) {
  for (RatePhase& phase : inputs_.phases)
    if (phase.global_batch > 0)
      phase.factor *= batch_factor(config, phase.global_batch) / batch_factor(config, inputs.global_batch);
}

double Schedule::warmup_slope() const {
  return config_.warmup_steps > 0 ? base_lr_ * (1 - config_.warmup_start) / static_cast<double>(config_.warmup_steps)
                                  : 0;
}

double Schedule::warmup(std::int64_t iteration) const {
  if (iteration >= config_.warmup_steps) return 1;
  const double done = static_cast<double>(iteration) / static_cast<double>(config_.warmup_steps);
  return config_.warmup_start + (1 - config_.warmup_start) * done;
}

double Schedule::phase_factor(std::int64_t iteration) const {
  double factor = 1;
  for (const RatePhase& phase : inputs_.phases)
    if (iteration >= phase.first_iteration) factor = phase.factor;
  return factor;
}

double Schedule::share_done(std::int64_t iteration) const {
  if (iteration <= config_.warmup_steps) return 0;
  if (iteration >= inputs_.total_steps) return 1;
  return static_cast<double>(iteration - config_.warmup_steps) /
         static_cast<double>(inputs_.total_steps - config_.warmup_steps);
}

result::Json Schedule::describe() const {
  result::Json j = {{"kind", config_.kind}, {"base_lr", base_lr_}, {"warmup_steps", config_.warmup_steps},
      {"final_fraction", config_.final_fraction}};
  j.update(details());
  return j;
}

std::unique_ptr<Schedule> make_schedule(const ScheduleConfig& config, const ScheduleInputs& inputs) {
  check(config);
#define TTT_MAKE(name, doc) \
  if (config.kind == #name) return make_##name(config, inputs);
  TTT_SCHEDULES(TTT_MAKE)
#undef TTT_MAKE
  throw UsageError("train.schedule.kind = \"" + config.kind + "\": there is no such schedule.");
}

}  // namespace ttt::train
