#include "reports/groups.h"

#include <algorithm>

#include "core/statistics.h"
#include "reports/keys.h"
#include "reports/numbers.h"
#include "reports/run_names.h"

namespace ttt::reports {
namespace {

using result::Json;
using result::RunRecord;

constexpr const char* kHarmless[] = {"train.trace_steps", "train.trace_from", "train.save_weights",
    "train.checkpoint.folder", "train.checkpoint.keep", "train.checkpoint.resume", "train.checkpoint.from"};

// An integer of a part that describes itself; 0 where it is not there.
std::int64_t integer(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_number_integer() ? it->get<std::int64_t>() : 0;
}

}  // namespace

Json resolved_settings(const RunRecord& r) {
  constexpr std::pair<const char*, const char*> kBuilt[] = {
      {"/model/classes", "classes"}, {"/train/global_batch", "global_batch"}, {"/train/threads", "threads_per_rank"}};
  Json settings = r.recipe.settings;
  for (const auto& [path, part] : kBuilt)
    if (const Json::json_pointer at(path); settings.contains(at) && settings[at] == 0)
      if (const std::int64_t built = integer(r.built, part); built != 0) settings[at] = built;
  return settings;
}

Settings settings_of(const RunRecord& r) {
  const Json nested = resolved_settings(r);
  Settings settings;
  for (const std::string& key : leaves(nested))
    if (const Json* value = member_at(nested, key)) settings[key] = *value;
  // Runs that are followed have folders of their own; whether a run is followed at all is a difference.
  if (const auto folder = settings.find("train.telemetry.folder"); folder != settings.end() && folder->second != "")
    folder->second = "a folder";
  return settings;
}

Settings defaults_of(const RunRecord& r) {
  Settings defaults = settings_of(r);
  for (const Json* changes : {&r.recipe.changes, &r.recipe.against_defaults})
    for (const Json& c : *changes)
      if (const auto known = defaults.find(text_at(c, "key")); known != defaults.end() && c.contains("default"))
        known->second = c.at("default");
  return defaults;
}

std::string setting_text(const Json& value) { return value == "" ? "\"\"" : value_text(value); }

bool is_harmless(const std::string& key) {
  return std::find(std::begin(kHarmless), std::end(kHarmless), key) != std::end(kHarmless);
}

std::vector<Difference> differences(const RunRecord& a, const RunRecord& b, const std::vector<std::string>& allowed) {
  Settings ours = settings_of(a), theirs = settings_of(b);
  ours.merge(defaults_of(b)), theirs.merge(defaults_of(a));
  std::vector<Difference> out;
  for (const auto& [key, value] : ours)
    if (const Json& other = theirs.at(key);
        value != other && !is_harmless(key) && std::find(allowed.begin(), allowed.end(), key) == allowed.end())
      out.push_back({key, setting_text(value), setting_text(other)});
  return out;
}

std::string what_differs(const RunRecord& run, const std::vector<const RunRecord*>& others) {
  std::map<std::string, std::string> parts;
  bool other_recipes = false;
  for (const RunRecord* other : others) {
    if (other->recipe.name != run.recipe.name) {  // which differs in more than a label has room for
      other_recipes = true;
      continue;
    }
    for (const Difference& d : differences(run, *other, {})) {
      const std::size_t group = d.key.rfind('.', d.key.rfind('.') - 1);  // "reducer.kind": its name alone says little
      parts[d.key] = d.key.substr(group == std::string::npos ? 0 : group + 1) + " " + d.ours;
    }
  }
  std::string text = other_recipes ? "recipe " + run.recipe.name : "";
  for (const auto& [key, part] : parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}

Centre centre(const std::vector<double>& samples) {
  Centre c{.median = median(samples),
      .low = *std::min_element(samples.begin(), samples.end()),
      .high = *std::max_element(samples.begin(), samples.end()),
      .runs = samples.size()};
  if (const auto bounds = median_interval(samples)) c.low = bounds->low, c.high = bounds->high, c.interval = true;
  return c;
}

Cell centre_cell(const char* pattern, const Centre& c) {
  Cell cell = number(pattern, c.median);
  if (c.runs > 1) {
    cell.text += " (" + fixed(pattern, c.low) + " to " + fixed(pattern, c.high) + ")";
    cell.values.insert(cell.values.end(), {c.low, c.high});
  }
  return cell;
}

std::int64_t ranks_of(const RunRecord& r) { return integer(r.system, "world_size"); }

std::int64_t global_batch_of(const RunRecord& r) { return integer(r.built, "global_batch"); }

}  // namespace ttt::reports
