// Accuracy as named numbers: a workload's evaluation gives a list of them, a target is a list of lower bounds.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "settings/json.h"

namespace ttt::result {

struct Metric {
  std::string name;  // a dot groups them: "bbox.AP" is {"bbox": {"AP": 0.4}} in a result
  double value = 0;
  bool operator==(const Metric&) const = default;
};
using Metrics = std::vector<Metric>;

// "bbox.AP" -> "bbox_ap": how a target names the metric that it bounds.
std::string target_name(const std::string& metric);
// Null where there is none. `name`: the metric's or the target's.
const double* find(const Metrics& metrics, const std::string& name);
// Whether each metric that `target` names is at least as high.
bool reached(const Metrics& metrics, const Metrics& target);
// The metrics of `metrics` that `target` bounds, in its order; 0 where there is none.
Metrics bounded(const Metrics& metrics, const Metrics& target);

// For readers: "box AP" of "bbox.AP" and of "bbox_ap" (COCO's bbox and segm are called box and mask elsewhere).
std::string metric_title(const std::string& name);
// "box AP 0.512 and mask AP 0.503", and without the titles; so many decimals.
std::string metrics_text(const Metrics& metrics, int digits);
std::string values_text(const Metrics& metrics, int digits);

Json metrics_json(const Metrics& metrics);
// All members of `object` that are numbers or objects of numbers, but `others`. Throws DataError for other types.
Metrics metrics_from_json(const Json& object, const std::string& path, const std::set<std::string>& others = {});

}  // namespace ttt::result
