// Runs that are one experiment repeated: what may differ between them, and what their numbers say together.
#pragma once

#include <string>
#include <vector>

#include "reports/compare.h"

namespace ttt::reports {

// One setting in which two runs differ.
struct Difference {
  std::string key, text;  // "train.schedule.lr", "train.schedule.lr: 0.02 against 0.01"
  bool unknown = false;   // one of the files does not have the key: it is of another version
};

// Whether a setting changes neither a number nor a time that counts: traces, saved weights, checkpoints.
bool is_harmless(const std::string& key);

// Settings in which `b` differs from `a`, without the harmless ones and without the keys of `allowed`.
std::vector<Difference> differences(
    const result::RunRecord& a, const result::RunRecord& b, const std::vector<std::string>& allowed);

// The settings of `run` in which any of the others differs: "seed 1, reducer.kind bucketed"; "" for none.
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
