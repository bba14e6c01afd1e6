// Techniques as the page shows them: ranked rows, with a mark for every machine.
#pragma once

#include <string>
#include <vector>

#include "reports/compare.h"
#include "settings/json.h"

namespace ttt::reports {

// Plots are as plots.h describes them; null where there is nothing to show.
struct Effects {
  result::Json steps, operations;        // whole training steps; operations that were measured alone
  result::Json other_ranks;              // steps with another number of ranks than most comparisons have
  std::vector<result::Json> self_tests;  // comparisons whose effect is known
  std::string answer;                    // a sentence on what is worth most; "" where nothing was measured
  std::vector<std::string> folded;       // a line for rows without a difference, and for those without a number
};

// Of a comparison that one machine has several times, the newest counts.
Effects effects(const std::vector<NamedRun>& runs);

}  // namespace ttt::reports
