// Groups of runs against the first of them: medians, changes with their intervals, p values, and a gate.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/statistics.h"
#include "reports/compare.h"
#include "reports/document.h"

namespace ttt::reports {

// By how much the median of `b` differs from that of `a`, b / a - 1. METRICS.md has the method.
struct GroupChange {
  double estimate = 0;
  std::optional<Bounds> interval;  // 95 %; it holds the estimate. None for too few runs: four of each side suffice
  double p = 1;                    // of the Mann-Whitney test
  std::size_t runs_a = 0, runs_b = 0;
  bool is_shown() const { return interval && (interval->low > 0 || interval->high < 0); }
};
GroupChange group_change(const std::vector<double>& a, const std::vector<double>& b);  // positive numbers, some of each

// "-28.60 % (-31.90 to -24.20 %)", with "~" before a change that is not shown.
Cell change_cell(const GroupChange& change);

inline constexpr std::size_t kLeastRuns = 4;  // of both sides, for an interval of 95 %

struct GroupOptions {
  std::string row = ".fullname", col = ".group", filter = "*";
  std::vector<std::string> ignored;  // keys that are meant to differ
  std::string metric;                // of the first line and of the gate; empty: time to target, else what is there
  std::optional<double> gate;        // the largest change for the worse that passes, as a share
  bool all = false;                  // name every key that differs
};

struct Group {
  std::string title;  // "A"
  std::vector<NamedRun> runs;
};

struct GroupComparison {
  Document document;
  bool passed = true;  // the gate
};
// Throws UsageError for fewer than two columns, keys that no run has, and a gate with too few runs.
GroupComparison compare_groups(const std::vector<Group>& groups, const GroupOptions& options);

}  // namespace ttt::reports
