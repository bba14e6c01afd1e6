#include "result/telemetry_record.h"

namespace ttt::result {

void TelemetrySeries::add(const TelemetrySample& s) {
  step.push_back(s.step), cost_s.push_back(s.cost_s);
  std::size_t next_reduction = 0;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    groups[g].gradient_norm.push_back(s.gradient_norm.at(g));
    groups[g].weight_norm.push_back(s.weight_norm.at(g));
    groups[g].update_norm.push_back(s.update_norm.at(g));
    if (!s.weight_gradient.empty()) groups[g].weight_gradient.push_back(s.weight_gradient.at(g));
    for (TelemetryReduction& m : groups[g].reductions) m.values.push_back(s.reductions.at(next_reduction++));
  }
  if (noise) noise->part_gradient_norm.push_back(s.part_gradient_norm.value());
}

TelemetrySeries TelemetrySeries::without_samples() const {
  TelemetrySeries empty{.every_steps = every_steps};
  for (const TelemetryGroup& g : groups) {
    TelemetryGroup& own = empty.groups.emplace_back(TelemetryGroup{.name = g.name, .parameters = g.parameters});
    for (const TelemetryReduction& m : g.reductions) own.reductions.push_back({.of = m.of, .kind = m.kind});
  }
  if (noise) empty.noise = {.part_images = noise->part_images, .batch_images = noise->batch_images};
  return empty;
}

std::vector<std::string> TelemetrySeries::names() const {
  std::vector<std::string> all;
  for (const TelemetryGroup& g : groups) all.push_back(g.name);
  return all;
}

// They compare as texts: whatever is added to them takes part.
bool TelemetrySeries::has_columns_of(const TelemetrySeries& other) const {
  return json_of(without_samples()) == json_of(other.without_samples());
}

void TelemetrySeries::check(const TelemetrySeries& t, const std::string& path) {
  const auto refuse = [&](const std::string& problem) {
    throw DataError("The " + problem + " of '" + path + "' in the result " +
                    (problem == "steps" ? "do not ascend" : "have different lengths") + ". Take the original file.");
  };
  for (std::size_t i = 1; i < t.size(); ++i)
    if (t.step[i] <= t.step[i - 1]) refuse("steps");
  bool whole = t.cost_s.size() == t.size() && t.picture_cost_s.size() == t.picture_step.size();
  for (const TelemetryGroup& g : t.groups) {
    for (const auto* norms : {&g.gradient_norm, &g.weight_norm, &g.update_norm}) whole &= norms->size() == t.size();
    whole &= g.weight_gradient.empty() || g.weight_gradient.size() == t.size();
    for (const TelemetryReduction& m : g.reductions) whole &= m.values.size() == t.size();
  }
  if (t.noise) {
    whole &= t.noise->part_gradient_norm.size() == t.size();
    if (t.noise->part_images >= t.noise->batch_images)
      throw DataError("'" + path +
                      ".noise' in the result compares a batch with a part that is no smaller. Take the "
                      "original file.");
  }
  if (!whole) refuse("columns");
}

}  // namespace ttt::result
