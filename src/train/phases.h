// Phases of a run, each with its own size of images, batch and learning rate.
//
// Progressive sizes (fast.ai 2018) begin with small images. Small images leave memory for large batches.
#pragma once

#include <cstdint>
#include <vector>

#include "core/epochs.h"
#include "data/order.h"
#include "settings/fields.h"
#include "train/schedules/schedule.h"

namespace ttt::train {

struct PhasesConfig {
  std::vector<double> epochs;
  std::vector<std::int64_t> short_side, images_per_rank;
  std::vector<double> lr;

  template <class Self, class V> static void fields(Self& s, V&& v) {
    v("epochs", s.epochs, "how long each phase lasts, in order; the last lasts to the end of the run; empty: no phases",
        between(0, 1e6));
    v("short_side", s.short_side,
        "of each phase, in place of data.short_side; data.long_side follows in proportion; empty: as they are [pixel]",
        between(1, 16384));
    v("images_per_rank", s.images_per_rank,
        "of each phase, in place of train.images_per_rank and train.global_batch; changes at whole epochs; "
        "train.schedule.batch_rule scales the rate; empty: as they are",
        between(1, 4096));
    v("lr", s.lr, "of each phase, in place of train.schedule.lr; warm-up and decay multiply it; empty: as it is",
        between(0, 1000));
  }
};

// Throws UsageError where the lists are not equally long, a phase begins after the run's end, nothing changes, or the
// batch changes within an epoch.
//   lr: of the schedule, which the phases' rates are in proportion to; epochs: of the run
void check(const PhasesConfig& config, double lr, double epochs);
// Empty where the phases have none of their own.
std::vector<data::OrderPhase> order_phases(const PhasesConfig& config, int ranks);
std::vector<RatePhase> rate_phases(const PhasesConfig& config, double lr, const Epochs& epochs, int ranks);

}  // namespace ttt::train
