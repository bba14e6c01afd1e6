#include "result/metrics.h"

#include <algorithm>
#include <cctype>
#include <cstdio>

#include "result/members.h"

namespace ttt::result {

std::string target_name(const std::string& metric) {
  std::string name = metric;
  for (char& c : name) c = c == '.' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return name;
}

const double* find(const Metrics& metrics, const std::string& name) {
  for (const Metric& m : metrics)
    if (m.name == name || target_name(m.name) == name) return &m.value;
  return nullptr;
}

bool reached(const Metrics& metrics, const Metrics& target) {
  return std::all_of(target.begin(), target.end(), [&](const Metric& least) {
    const double* value = find(metrics, least.name);
    return value && *value >= least.value;
  });
}

Metrics bounded(const Metrics& metrics, const Metrics& target) {
  Metrics all;
  for (const Metric& least : target) {
    const double* value = find(metrics, least.name);
    all.push_back({least.name, value ? *value : 0});
  }
  return all;
}

std::string metric_title(const std::string& name) {
  const std::size_t end = name.find_first_of("._");
  const std::string group = name.substr(0, end);
  if (end == std::string::npos || (group != "bbox" && group != "segm")) return name;
  const std::string kind = name.substr(end + 1);
  return (group == "bbox" ? "box " : "mask ") + (kind == "ap" ? "AP" : kind);
}

namespace {

std::string joined(const Metrics& metrics, int digits, bool titles) {
  std::string all;
  for (const Metric& m : metrics) {
    char value[40];
    std::snprintf(value, sizeof value, "%.*f", digits, m.value);
    all += (all.empty() ? "" : " and ") + (titles ? metric_title(m.name) + " " : "") + value;
  }
  return all;
}

}  // namespace

std::string metrics_text(const Metrics& metrics, int digits) { return joined(metrics, digits, true); }
std::string values_text(const Metrics& metrics, int digits) { return joined(metrics, digits, false); }

Json metrics_json(const Metrics& metrics) {
  Json j = Json::object();
  for (const Metric& m : metrics) {
    const std::size_t dot = m.name.find('.');
    if (dot == std::string::npos) j[m.name] = m.value;
    else j[m.name.substr(0, dot)][m.name.substr(dot + 1)] = m.value;
  }
  return j;
}

Metrics metrics_from_json(const Json& object, const std::string& path, const std::set<std::string>& others) {
  Metrics metrics;
  for (const auto& [name, value] : object.items()) {
    if (others.contains(name)) continue;
    if (!value.is_object()) {
      metrics.push_back({name, get<double>(object, name, path)});
      continue;
    }
    for (const auto& entry : value.items())
      metrics.push_back({name + "." + entry.key(), get<double>(value, entry.key(), join(path, name))});
  }
  return metrics;
}

}  // namespace ttt::result
