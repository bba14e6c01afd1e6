#include "reports/preflight.h"

#include <algorithm>

#include "core/statistics.h"
#include "reports/numbers.h"

namespace ttt::reports {
namespace {

using result::Json;

constexpr std::size_t kMostGroups = 6;  // different values that a line can tell apart

std::string scalar(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.is_number_float() ? fixed("%.5g", value.get<double>()) : value.dump();
}

// "0-2, 5" of sorted numbers. Two in a row stay two: "0, 1".
std::string ranges(const std::vector<std::size_t>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    if (last < i + 2) last = i;
    text.append(text.empty() ? "" : ", ").append(std::to_string(numbers[i]));
    if (last > i) text.append("-").append(std::to_string(numbers[last]));
    i = last + 1;
  }
  return text;
}

std::string list_text(const Json& list) {
  std::vector<std::pair<std::string, std::vector<std::size_t>>> groups;
  std::vector<double> numbers;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string text = scalar(list[i]);
    if (list[i].is_number()) numbers.push_back(list[i].get<double>());
    const auto same = std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.first == text; });
    if (same == groups.end()) groups.push_back({text, {i}});
    else same->second.push_back(i);
  }
  if (groups.empty()) return "none";
  if (groups.size() == 1)
    return groups[0].first + (list.size() > 1 ? " (each of " + std::to_string(list.size()) + ")" : "");
  if (groups.size() > kMostGroups && numbers.size() == list.size())
    return fixed("least %.5g, median %.5g, most %.5g of %zu", *std::min_element(numbers.begin(), numbers.end()),
        median(numbers), *std::max_element(numbers.begin(), numbers.end()), numbers.size());
  std::string text;
  for (const auto& [value, members] : groups) text += (text.empty() ? "" : ", ") + value + " (" + ranges(members) + ")";
  return text;
}

}  // namespace

Document preflight_blocks(const result::RunRecord& record) {
  if (record.checks.empty()) return {};
  Table checks{.header = {"check", "status", "what was found"}};
  Table facts{.header = {"fact", "value"}};
  for (const result::Check& c : record.checks) {
    std::string status = c.status;
    std::replace(status.begin(), status.end(), '_', ' ');
    checks.rows.push_back({c.name, status, c.sentence});
    for (const auto& [name, value] : c.facts.items())
      facts.rows.push_back({c.name + "." + name, value.is_array()    ? list_text(value)
                                                 : value.is_number() ? Cell(scalar(value), value.get<double>())
                                                                     : Cell(scalar(value))});
  }
  Document d = {Heading{"Checks"}, std::move(checks)};
  if (!facts.rows.empty()) d.push_back(Heading{"Facts"}), d.push_back(std::move(facts));
  return d;
}

}  // namespace ttt::reports
