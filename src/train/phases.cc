#include "train/phases.h"

#include <numeric>
#include <string>

#include "core/error.h"
#include "core/text.h"

namespace ttt::train {
namespace {

// make(i, begin) of each phase, where it begins.
template <class Phase, class Make> std::vector<Phase> phases_of(const PhasesConfig& config, const Make& make) {
  std::vector<Phase> all;
  double begin = 0;
  for (std::size_t i = 0; i < config.epochs.size(); ++i) {
    all.push_back(make(i, begin));
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

std::vector<data::SizePhase> size_phases(const PhasesConfig& config) {
  if (config.short_side.empty()) return {};
  return phases_of<data::SizePhase>(config, [&](std::size_t i, double begin) {
    return data::SizePhase{.begin_epochs = begin, .short_side = config.short_side[i]};
  });
}

std::vector<RatePhase> rate_phases(const PhasesConfig& config, double lr) {
  if (config.lr.empty()) return {};
  return phases_of<RatePhase>(config,
      [&](std::size_t i, double begin) { return RatePhase{.begin_epochs = begin, .factor = config.lr[i] / lr}; });
}

}  // namespace ttt::train
