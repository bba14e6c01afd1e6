// MLPerf logs judged by the rules of mlperf_rules.h.
#pragma once

#include <vector>

#include "reports/document.h"
#include "reports/series.h"

namespace ttt::reports {

struct CheckOptions {
  bool compliance_alone = false;  // what MLPerf's compliance checker decides, and nothing more
};
struct Checked {
  Document document;
  std::size_t rejected = 0;
};

// A block for each log, accepted or rejected, with each fault's line and key, and who would find it. Seeds are compared
// over all of them.
Checked check(const std::vector<NamedLog>& logs, const CheckOptions& options = {});

}  // namespace ttt::reports
