// Pictures of results as SVG, for README and for slides: time to target by its factors, and techniques by their effect.
#pragma once

#include <string>
#include <vector>

#include "reports/compare.h"

namespace ttt::reports {

struct Picture {
  std::string name;  // of its file, without ".svg"
  std::string svg;
};

// One for each question that the runs answer. A machine without a run that passed has a bar that says so. Throws
// UsageError where the runs answer none.
std::vector<Picture> pictures(const std::vector<NamedRun>& runs);

}  // namespace ttt::reports
