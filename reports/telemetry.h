// Report of a run's telemetry: norms by groups of layers, ratios between heads, and weight growth around
// learning-rate decays.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/statistics.h"
#include "reports/compare.h"
#include "reports/document.h"

namespace ttt::reports {

// Gradient norm of one group / that of another.
struct NormRatio {
  double median = 0, first = 0, last = 0;  // over all samples; of the first and the last third
  // centre of the ratio with its 95 % interval; nothing for fewer than 24 samples
  std::optional<Interval> interval;
};
// Nothing where no sample has both above 0.
std::optional<NormRatio> norm_ratio(const std::vector<double>& above, const std::vector<double>& below);

// The same of two groups of a run by their names; nothing without telemetry or one of the groups.
std::optional<NormRatio> norm_ratio(const result::RunRecord& run, const std::string& above, const std::string& below);

// Whether the weight norm changes (WeightGrowth) where the learning rate first falls: that of all weights, or those of
// half of the groups. Nothing where the rate does not fall, or for too few samples.
std::optional<bool> breaks_at_decay(const result::RunRecord& run);

// Why a result has no telemetry, and what to do about it; "" where it has.
std::string why_no_telemetry(const NamedRun& run);

// Of runs with telemetry; each one's headings have its name.
Document telemetry(const std::vector<NamedRun>& runs);

}  // namespace ttt::reports
