#include "reports/groups.h"

#include <algorithm>
#include <map>

#include "core/statistics.h"
#include "reports/numbers.h"

namespace ttt::reports {
namespace {

constexpr const char* kHarmless[] = {"train.trace_steps", "train.trace_from", "train.save_weights",
    "train.checkpoint.folder", "train.checkpoint.keep", "train.checkpoint.resume", "train.checkpoint.from"};

// An integer of a part that describes itself; 0 where it is not there.
std::int64_t integer(const result::Json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_number_integer() ? it->get<std::int64_t>() : 0;
}

}  // namespace

bool is_harmless(const std::string& key) {
  return std::find(std::begin(kHarmless), std::end(kHarmless), key) != std::end(kHarmless);
}

std::vector<Difference> differences(
    const result::RunRecord& a, const result::RunRecord& b, const std::vector<std::string>& allowed) {
  std::vector<Difference> out;
  for (const std::string& text : setting_differences(a.recipe.settings, b.recipe.settings)) {
    const Difference d{.key = text.substr(0, text.find(": ")),
        .text = text,
        .unknown = text.find(": null against ") != std::string::npos || text.ends_with(" against null")};
    // Two runs that are followed, each in a folder of its own; whether a run is followed at all is a difference.
    const bool two_folders = d.key == "train.telemetry.folder" && !d.unknown && text.find("\"\"") == std::string::npos;
    if (!is_harmless(d.key) && !two_folders && std::find(allowed.begin(), allowed.end(), d.key) == allowed.end())
      out.push_back(d);
  }
  return out;
}

std::string what_differs(const result::RunRecord& run, const std::vector<const result::RunRecord*>& others) {
  std::map<std::string, std::string> parts;
  for (const result::RunRecord* other : others)
    for (const Difference& d : differences(run, *other, {}))
      if (!d.unknown) {
        std::string path = "/" + d.key;
        std::replace(path.begin(), path.end(), '.', '/');
        const result::Json value = run.recipe.settings.value(result::Json::json_pointer(path), result::Json());
        const std::size_t group = d.key.rfind('.', d.key.rfind('.') - 1);  // "reducer.kind": its name alone says little
        parts[d.key] = d.key.substr(group == std::string::npos ? 0 : group + 1) + " " +
                       (value.is_string() ? value.get<std::string>() : value.dump());
      }
  std::string text;
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

std::int64_t ranks_of(const result::RunRecord& r) { return integer(r.system, "world_size"); }

std::int64_t global_batch_of(const result::RunRecord& r) { return integer(r.built, "global_batch"); }

}  // namespace ttt::reports
