#include "train/phases.h"

#include <cmath>
#include <string>

#include "core/error.h"
#include "core/text.h"

namespace ttt::train {
namespace {

// Epochs before each phase.
std::vector<double> beginnings(const PhasesConfig& config) {
  std::vector<double> all;
  double begin = 0;
  for (const double epochs : config.epochs) all.push_back(begin), begin += epochs;
  return all;
}

void check_batches(const PhasesConfig& config) {
  const std::vector<double> begin = beginnings(config);
  for (std::size_t i = 1; i < config.images_per_rank.size(); ++i)
    if (config.images_per_rank[i] != config.images_per_rank[i - 1] && begin[i] != std::round(begin[i]))
      throw UsageError(
          result::fixed("train.phases.images_per_rank changes after %.4g epochs. Let it change after whole epochs: an "
                        "epoch has batches of one size.",
              begin[i]));
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
  as_long("images_per_rank", config.images_per_rank.size());
  if (config.epochs.empty()) return;
  if (config.short_side.empty() && config.images_per_rank.empty() && config.lr.empty())
    throw UsageError(
        "train.phases.epochs is set, and no phase differs: give train.phases.short_side, images_per_rank or lr.");
  check_batches(config);
  if (!config.lr.empty() && lr <= 0)
    throw UsageError("train.phases.lr is in proportion to train.schedule.lr, which is 0: set that above 0.");
  const double last = beginnings(config).back();
  if (last >= epochs)
    throw UsageError(
        result::fixed("The last of train.phases would begin after %.3g epochs, and the run ends after %.3g: "
                      "shorten train.phases.epochs, or raise train.epochs.",
            last, epochs));
}

std::vector<data::OrderPhase> order_phases(const PhasesConfig& config, int ranks) {
  std::vector<data::OrderPhase> all;
  if (config.short_side.empty() && config.images_per_rank.empty()) return all;
  for (const double begin : beginnings(config)) {
    const std::size_t i = all.size();
    data::OrderPhase& phase = all.emplace_back(data::OrderPhase{.first_epoch = begin});
    if (!config.short_side.empty()) phase.short_side = config.short_side[i];
    if (!config.images_per_rank.empty()) phase.global_batch = config.images_per_rank[i] * ranks;
  }
  return all;
}

std::vector<RatePhase> rate_phases(const PhasesConfig& config, double lr, const Epochs& epochs, int ranks) {
  std::vector<RatePhase> all;
  if (config.lr.empty() && config.images_per_rank.empty()) return all;
  for (const double begin : beginnings(config)) {
    const std::size_t i = all.size();
    RatePhase& phase = all.emplace_back(RatePhase{.first_iteration = epochs.steps(begin) + 1});
    if (!config.lr.empty()) phase.factor = config.lr[i] / lr;
    if (!config.images_per_rank.empty()) phase.global_batch = config.images_per_rank[i] * ranks;
  }
  return all;
}

}  // namespace ttt::train
