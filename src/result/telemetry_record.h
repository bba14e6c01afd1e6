// Sizes of gradients, weights and updates over a run, by groups of layers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "settings/json.h"

namespace ttt::result {

// Of one step. Norms are Euclidean (L2), one for each group in TelemetrySeries' order.
struct TelemetrySample {
  std::int64_t step = 0;  // from 0
  // by which the step took longer on the rank that recorded: what the telemetry itself costs
  double cost_s = 0;
  std::vector<double> gradient_norm;  // of the mean over ranks, as the optimiser got it: without weight decay
  std::vector<double> weight_norm;    // after the step's update; trainable weights alone
  std::vector<double> update_norm;    // of what the update added to the weights
};

struct TelemetrySeries {
  std::int64_t every_steps = 0;
  std::vector<std::string> group;
  std::vector<std::int64_t> parameters;  // trainable numbers in each group
  std::vector<std::int64_t> step;
  std::vector<double> cost_s;
  std::vector<std::vector<double>> gradient_norm, weight_norm, update_norm;  // [group][sample]
  // Pictures of evaluation images: the step after which they were made, and what that took.
  std::vector<std::int64_t> picture_step;
  std::vector<double> picture_cost_s;

  std::size_t size() const { return step.size(); }
  TelemetrySeries() = default;
  TelemetrySeries(std::int64_t every, std::vector<std::string> groups, std::vector<std::int64_t> counts);
  void add(const TelemetrySample& sample);  // with as many norms of each kind as there are groups
};

Json telemetry_json(const TelemetrySeries& series);
// Throws DataError naming the member that is missing or wrong.
TelemetrySeries telemetry_from_json(const Json& object);
// A sample as a line of the journal.
Json telemetry_sample_json(const TelemetrySample& sample);
TelemetrySample telemetry_sample_from_json(const Json& object, const std::string& path);

}  // namespace ttt::result
