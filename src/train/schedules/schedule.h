// Learning rate as a function of the iteration.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "settings/fields.h"
#include "settings/json.h"

// The choices of train.schedule.kind. To add one: a line here, and schedules/<kind>.cc with make_<kind>.
#define TTT_SCHEDULES(X) X(step_decay, "linear warm-up, then steps down")

namespace ttt::train {

struct ScheduleConfig {
  std::string kind = "step_decay";
  double lr = 0.02;
  std::int64_t reference_batch = 0;
  std::int64_t warmup_steps = 500;
  double warmup_start = 0.0;
  std::vector<std::int64_t> decay_steps;
  std::vector<double> decay_epochs;
  double decay_factor = 0.1;

  template <class Self, class V> static void fields(Self& s, V&& v) {
    v("kind", s.kind, "how the rate changes" TTT_SCHEDULES(TTT_CHOICE_DOC), one_of({TTT_SCHEDULES(TTT_CHOICE_NAME)}));
    v("lr", s.lr, "base learning rate", between(0, 1e30));
    v("reference_batch", s.reference_batch,
        "global batch that lr is meant for: at another one it is scaled linearly (Goyal et al. 2017); 0: lr as it "
        "stands",
        between(0, 1e6));
    v("warmup_steps", s.warmup_steps, "iterations over which the rate rises linearly to lr", between(0, 1e9));
    v("warmup_start", s.warmup_start,
        "fraction of lr at iteration 0 (MLPerf: 1 - warmup_steps * warmup_factor / lr, normally 0)", between(0, 1));
    v("decay_steps", s.decay_steps, "iterations after which the rate is multiplied by decay_factor", between(1, 1e9));
    v("decay_epochs", s.decay_epochs, "the same in epochs (not together with decay_steps)", between(0, 1e6));
    v("decay_factor", s.decay_factor, "factor at each decay", between(0, 1));
  }
};

// Throws UsageError for both kinds of decay and for one whose points do not ascend.
void check(const ScheduleConfig& config);

// What a schedule's units hang on.
struct ScheduleInputs {
  std::int64_t global_batch = 1, steps_per_epoch = 1, total_steps = 1;
};

class Schedule {
 public:
  virtual ~Schedule() = default;
  // `iteration` counts from 1, as the reference implementation does: its scheduler steps before the optimizer.
  virtual double lr(std::int64_t iteration) const = 0;
  virtual result::Json describe() const = 0;
};

// Throws UsageError where the configuration contradicts itself.
std::unique_ptr<Schedule> make_schedule(const ScheduleConfig& config, const ScheduleInputs& inputs);

#define TTT_DECLARE(name, doc) \
  std::unique_ptr<Schedule> make_##name(const ScheduleConfig& config, const ScheduleInputs& inputs);
TTT_SCHEDULES(TTT_DECLARE)
#undef TTT_DECLARE

}  // namespace ttt::train
