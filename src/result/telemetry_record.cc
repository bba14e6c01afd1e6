#include "result/telemetry_record.h"

#include "core/error.h"
#include "result/members.h"

namespace ttt::result {
namespace {

constexpr const char* kPath = "telemetry";

std::vector<double> column(const Json& group, const char* key, std::size_t samples) {
  auto values = get_list<double>(group, key, "telemetry.groups");
  if (values.size() != samples)
    throw DataError("The columns of 'telemetry' in the result have different lengths. Take the original file.");
  return values;
}

}  // namespace

TelemetrySeries::TelemetrySeries(std::int64_t every, std::vector<std::string> groups, std::vector<std::int64_t> counts)
    : every_steps(every), group(std::move(groups)), parameters(std::move(counts)), gradient_norm(group.size()),
      weight_norm(group.size()), update_norm(group.size()) {}

void TelemetrySeries::add(const TelemetrySample& s) {
  step.push_back(s.step), cost_s.push_back(s.cost_s);
  for (std::size_t g = 0; g < group.size(); ++g) {
    gradient_norm[g].push_back(s.gradient_norm.at(g));
    weight_norm[g].push_back(s.weight_norm.at(g));
    update_norm[g].push_back(s.update_norm.at(g));
  }
}

Json telemetry_json(const TelemetrySeries& t) {
  Json groups = Json::array();
  for (std::size_t g = 0; g < t.group.size(); ++g)
    groups.push_back({{"name", t.group[g]}, {"parameters", t.parameters[g]}, {"gradient_norm", t.gradient_norm[g]},
        {"weight_norm", t.weight_norm[g]}, {"update_norm", t.update_norm[g]}});
  return {{"every_steps", t.every_steps}, {"step", t.step}, {"cost_s", t.cost_s}, {"groups", std::move(groups)},
      {"pictures", {{"step", t.picture_step}, {"cost_s", t.picture_cost_s}}}};
}

TelemetrySeries telemetry_from_json(const Json& object) {
  TelemetrySeries t;
  t.every_steps = get<std::int64_t>(object, "every_steps", kPath);
  t.step = get_list<std::int64_t>(object, "step", kPath);
  for (std::size_t i = 1; i < t.size(); ++i)
    if (t.step[i] <= t.step[i - 1])
      throw DataError("The steps of 'telemetry' in the result do not ascend. Take the original file.");
  t.cost_s = column(object, "cost_s", t.size());
  for (const Json& g : get_array(object, "groups", kPath)) {
    t.group.push_back(get<std::string>(g, "name", "telemetry.groups"));
    t.parameters.push_back(get<std::int64_t>(g, "parameters", "telemetry.groups"));
    t.gradient_norm.push_back(column(g, "gradient_norm", t.size()));
    t.weight_norm.push_back(column(g, "weight_norm", t.size()));
    t.update_norm.push_back(column(g, "update_norm", t.size()));
  }
  const Json& pictures = get_object(object, "pictures", kPath);
  t.picture_step = get_list<std::int64_t>(pictures, "step", "telemetry.pictures");
  t.picture_cost_s = column(pictures, "cost_s", t.picture_step.size());
  return t;
}

Json telemetry_sample_json(const TelemetrySample& s) {
  return {{"step", s.step}, {"cost_s", s.cost_s}, {"gradient_norm", s.gradient_norm}, {"weight_norm", s.weight_norm},
      {"update_norm", s.update_norm}};
}

TelemetrySample telemetry_sample_from_json(const Json& object, const std::string& path) {
  return {.step = get<std::int64_t>(object, "step", path),
      .cost_s = get<double>(object, "cost_s", path),
      .gradient_norm = get_list<double>(object, "gradient_norm", path),
      .weight_norm = get_list<double>(object, "weight_norm", path),
      .update_norm = get_list<double>(object, "update_norm", path)};
}

}  // namespace ttt::result
