// Sides of a comparison: groups of runs, each run perhaps alone.
#pragma once

#include <string>
#include <vector>

#include "reports/compare.h"

namespace ttt::reports {

struct Side {
  std::string title;  // "A"
  std::vector<const NamedRun*> runs;
};

// A row for each side: its files, and the values that its runs have.
Table identity(const std::vector<Side>& sides);

struct CautionOptions {
  std::vector<std::string> ignored;  // keys that are meant to differ
  bool all = false;                  // every key of recipe, system, provenance, built and data, check sums included
};
// Reasons to compare the numbers with care: verdicts, and each key that differs, once. A setting that a result does
// not have is taken to have had its default, which the other results tell.
Table cautions(const std::vector<Side>& sides, const CautionOptions& options);

// "A, B and C"
std::string enumeration(const std::vector<std::string>& words);

}  // namespace ttt::reports
