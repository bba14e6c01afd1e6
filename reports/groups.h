// Runs that are one experiment repeated: what may differ between them, and what their numbers say together.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "reports/compare.h"

namespace ttt::reports {

// Settings by the keys of --set.
using Settings = std::map<std::string, result::Json>;
// A 0 by which older programs left a choice to themselves is replaced by what they built.
result::Json resolved_settings(const result::RunRecord& record);
Settings settings_of(const result::RunRecord& record);  // the same, flat
// What the record tells of defaults: a setting that is not among the recipe's changes has its own.
Settings defaults_of(const result::RunRecord& record);
std::string setting_text(const result::Json& value);  // "bucketed", "0.02"; of an empty text two quotes

// One setting in which two runs differ. A run that lacks it had the default, which the other one tells.
struct Difference {
  std::string key, ours, theirs;  // "train.schedule.lr", "0.02", "0.01"
  std::string text() const { return key + ": " + ours + " against " + theirs; }
};

// Whether a setting changes neither a number nor a time that counts: traces, saved weights, checkpoints.
bool is_harmless(const std::string& key);

// Settings in which `b` differs from `a`, without the harmless ones and without the keys of `allowed`.
std::vector<Difference> differences(
    const result::RunRecord& a, const result::RunRecord& b, const std::vector<std::string>& allowed);

// The settings of `run` in which any of the others of its recipe differs: "seed 1, reducer.kind bucketed"; "" for none.
// Where there are other recipes, its recipe's name stands before them.
std::string what_differs(const result::RunRecord& run, const std::vector<const result::RunRecord*>& others);

// Median of a few runs with what is known of its precision: from six runs on the 95 % interval, below that the range.
struct Centre {
  double median = 0, low = 0, high = 0;
  std::size_t runs = 0;
  bool interval = false;
};
Centre centre(const std::vector<double>& samples);  // not empty
// "12.1 (11.8 to 12.6)", behind it the median and both ends; one run: "12.1".
Cell centre_cell(const char* pattern, const Centre& centre);

std::int64_t ranks_of(const result::RunRecord& record);         // 0 where unknown
std::int64_t global_batch_of(const result::RunRecord& record);  // 0 where unknown

}  // namespace ttt::reports
