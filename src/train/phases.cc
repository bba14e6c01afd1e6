#include "train/phases.h"

#include <numeric>
#include <string>

#include "core/error.h"
#include "core/text.h"
#include "train/epochs.h"

namespace ttt::train {
namespace {

// make(i, step) of each phase, which begins with that step.
template <class Phase, class Make>
std::vector<Phase> phases_of(const PhasesConfig& config, std::int64_t steps_per_epoch, const Make& make) {
  std::vector<Phase> all;
  double begin = 0;
  for (std::size_t i = 0; i < config.epochs.size(); ++i) {
    all.push_back(make(i, steps_of(begin, steps_per_epoch)));
    begin += config.epochs[i];
  }
  return all;
}

}  // namespace

void check(const PhasesConfig& config, double lr, double epochs) {
  const auto as_long = [&](const char* key, std::size_t size) {
    if (size != 0 && size != config.epochs.size())
      throw UsageError("train.phases." + std::string(key) + " has " + std::to_string(size) +
                       " values and train.phases.epochs " + std::to_string(config.epochs.size()) +
                       ": give as many of both.");
  };
  as_long("short_side", config.short_side.size()), as_long("lr", config.lr.size());
  if (config.epochs.empty()) return;
  if (config.short_side.empty() && config.lr.empty())
    throw UsageError("train.phases.epochs is set, and no phase differs: give train.phases.short_side or lr.");
  if (!config.lr.empty() && lr <= 0)
    throw UsageError("train.phases.lr is in proportion to train.schedule.lr, which is 0: set that above 0.");
  const double last = std::accumulate(config.epochs.begin(), config.epochs.end() - 1, 0.0);
  if (last >= epochs)
    throw UsageError(
        result::fixed("The last of train.phases would begin after %.3g epochs, and the run ends after %.3g: "
                      "shorten train.phases.epochs, or raise train.epochs.",
            last, epochs));
}

std::vector<data::SizePhase> size_phases(const PhasesConfig& config, std::int64_t steps_per_epoch) {
  if (config.short_side.empty()) return {};
  return phases_of<data::SizePhase>(config, steps_per_epoch, [&](std::size_t i, std::int64_t step) {
    return data::SizePhase{.first_step = step, .short_side = config.short_side[i]};
  });
}

std::vector<RatePhase> rate_phases(const PhasesConfig& config, double lr, std::int64_t steps_per_epoch) {
  if (config.lr.empty()) return {};
  return phases_of<RatePhase>(config, steps_per_epoch, [&](std::size_t i, std::int64_t step) {
    return RatePhase{.first_iteration = step + 1, .factor = config.lr[i] / lr};
  });
}

}  // namespace ttt::train
