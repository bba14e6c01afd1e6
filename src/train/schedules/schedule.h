// Learning rate as a function of the iteration.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "settings/fields.h"

namespace ttt::train {

struct ScheduleConfig {
  double lr = 0.02;
  std::int64_t reference_batch = 0;
  std::int64_t warmup_steps = 500;
  double warmup_start = 0.0;
  std::vector<std::int64_t> decay_steps;
  std::vector<double> decay_epochs;
  double decay_factor = 0.1;

  template <class Self, class V>
  static void fields(Self& s, V&& v) {
    v("lr", s.lr, "base learning rate", between(0, 1e30));
    v("reference_batch", s.reference_batch, "global batch that lr is meant for: at another one it is scaled linearly (Goyal et al. 2017); 0: lr as it stands", between(0, 1e6));
    v("warmup_steps", s.warmup_steps, "iterations over which the rate rises linearly to lr", between(0, 1e9));
    v("warmup_start", s.warmup_start, "fraction of lr at iteration 0 (MLPerf: 1 - warmup_steps * warmup_factor / lr, normally 0)", between(0, 1));
    v("decay_steps", s.decay_steps, "iterations after which the rate is multiplied by decay_factor", between(1, 1e9));
    v("decay_epochs", s.decay_epochs, "the same in epochs (not together with decay_steps)", between(0, 1e6));
    v("decay_factor", s.decay_factor, "factor at each decay", between(0, 1));
  }
};

// Throws UsageError for both kinds of decay and for one whose points do not ascend.
void check(const ScheduleConfig& config);

// Linear warm-up (Goyal et al. 2017) and step decay. `iteration` counts from 1, as the reference does: its scheduler steps before the
// optimiser. Iteration i > decay_steps[k] is decayed k + 1 times.
class Schedule {
 public:
  Schedule(const ScheduleConfig& config, std::int64_t global_batch, std::int64_t steps_per_epoch);
  double lr(std::int64_t iteration) const;
  double base_lr() const { return config_.lr; }                                        // at this global batch
  double warmup_slope() const;                                                         // rise of the rate per iteration; 0 without warm-up
  const std::vector<std::int64_t>& decay_steps() const { return decay_steps_; }        // also where decay_epochs said them

 private:
  ScheduleConfig config_;
  std::vector<std::int64_t> decay_steps_;
};

}  // namespace ttt::train
