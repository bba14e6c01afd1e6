// Learning rate as a function of the iteration.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/epochs.h"
#include "settings/fields.h"
#include "settings/json.h"

// The choices of train.schedule.kind. To add one: a line here, and schedules/<kind>.cc with make_<kind>.
#define TTT_SCHEDULES(X)                                                             \
  X(step_decay, "times decay_factor at each of decay_steps or decay_epochs")         \
  X(cosine, "half a cosine down to the last iteration (Loshchilov and Hutter 2017)") \
  X(linear, "a straight line down to the last iteration")                            \
  X(poly, "a power of what is left of the iterations (You et al. 2017)")

// The choices of train.schedule.batch_rule.
#define TTT_BATCH_RULES(X)                                     \
  X(linear, "the rate grows as the batch (Goyal et al. 2017)") \
  X(sqrt, "as its square root (You et al. 2020)")              \
  X(none, "it stays")

namespace ttt::train {

struct ScheduleConfig {
  std::string kind = "step_decay";
  double lr = 0.02;
  std::int64_t reference_batch = 0;
  std::string batch_rule = "linear";
  std::int64_t warmup_steps = 500;
  double warmup_start = 0.0;
  std::vector<std::int64_t> decay_steps;
  std::vector<double> decay_epochs;
  double decay_factor = 0.1;
  double final_fraction = 0;
  double power = 2;

  template <class Self, class V> static void fields(Self& s, V&& v) {
    v("kind", s.kind, "how the rate falls after the warm-up" TTT_SCHEDULES(TTT_CHOICE_DOC),
        one_of({TTT_SCHEDULES(TTT_CHOICE_NAME)}));
    v("lr", s.lr, "base learning rate", between(0, 1e30));
    v("reference_batch", s.reference_batch,
        "global batch that lr is meant for: at another one it is scaled by batch_rule; 0: lr as it stands",
        between(0, 1e6));
    v("batch_rule", s.batch_rule, "how lr is scaled to another global batch" TTT_BATCH_RULES(TTT_CHOICE_DOC),
        one_of({TTT_BATCH_RULES(TTT_CHOICE_NAME)}));
    v("warmup_steps", s.warmup_steps, "iterations over which the rate rises linearly to lr", between(0, 1e9));
    v("warmup_start", s.warmup_start,
        "fraction of lr at iteration 0 (MLPerf: 1 - warmup_steps * warmup_factor / lr, normally 0)", between(0, 1));
    v("decay_steps", s.decay_steps,
        "of step_decay: iterations, counted from 1, from which on the rate is multiplied by decay_factor",
        between(1, 1e9));
    v("decay_epochs", s.decay_epochs, "of step_decay: epochs after which it is (not together with decay_steps)",
        between(0, 1e6));
    v("decay_factor", s.decay_factor, "of step_decay: factor at each decay", between(0, 1));
    v("final_fraction", s.final_fraction,
        "of lr: what cosine, linear and poly end at with the last of train.epochs; step_decay falls no lower",
        between(0, 1));
    v("power", s.power, "of poly", between(1e-3, 100));
  }
};

// Throws UsageError for both kinds of decay, for one whose points do not ascend, and for points that the kind does not
// read.
void check(const ScheduleConfig& config);

// From an iteration on, the base rate times a factor. The batch rule then scales it to the phase's batch.
struct RatePhase {
  std::int64_t first_iteration = 1;
  double factor = 1;
  std::int64_t global_batch = 0;  // 0: as without phases
};

// What a schedule's units hang on.
struct ScheduleInputs {
  std::int64_t global_batch = 1;
  Epochs epochs = 1;
  std::int64_t total_steps = 1;
  std::vector<RatePhase> phases = {};  // in order; empty: the factor is 1
};

// Base rate x phase x warm-up x decay. Iterations count from 1, as in the reference implementation: its scheduler steps
// before the optimizer. All kinds have the same base rate and warm-up. A group of parameters has its own factor of the
// rate (Rates), so that a warm-up keeps the groups' ratios.
class Schedule {
 public:
  Schedule(const ScheduleConfig& config, const ScheduleInputs& inputs);
  virtual ~Schedule() = default;
  double lr(std::int64_t iteration) const {
    return base_lr_ * phase_factor(iteration) * warmup(iteration) * decay(iteration);
  }
  double base_lr() const { return base_lr_; }  // at this global batch
  double warmup_slope() const;                 // rise of the rate per iteration; 0 without warm-up
  // Iterations from which on the rate is multiplied by decay_factor; empty for a kind that has none.
  virtual std::vector<std::int64_t> decay_steps() const { return {}; }
  result::Json describe() const;

 protected:
  virtual double decay(std::int64_t iteration) const = 0;                  // factor of the base rate, 1 at first
  virtual result::Json details() const { return result::Json::object(); }  // what a kind adds to describe()
  // Share of the iterations after the warm-up that are done: 0 to its end, 1 in the last iteration and behind.
  double share_done(std::int64_t iteration) const;
  // 1 falls to config.final_fraction where `left` falls from 1 to 0.
  double down_to_final(double left) const { return config_.final_fraction + (1 - config_.final_fraction) * left; }
  const ScheduleConfig& config() const { return config_; }

 private:
  double warmup(std::int64_t iteration) const;
  double phase_factor(std::int64_t iteration) const;

  ScheduleConfig config_;
  double base_lr_;
  ScheduleInputs inputs_;
};

// Throws UsageError where the configuration contradicts itself.
std::unique_ptr<Schedule> make_schedule(const ScheduleConfig& config, const ScheduleInputs& inputs);

#define TTT_DECLARE(name, doc) \
  std::unique_ptr<Schedule> make_##name(const ScheduleConfig& config, const ScheduleInputs& inputs);
TTT_SCHEDULES(TTT_DECLARE)
#undef TTT_DECLARE

}  // namespace ttt::train
