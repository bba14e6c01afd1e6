// Constants of the MLPerf Training rules for Mask R-CNN, shared by the run that obeys them and the report that checks
// logs. Source: mlcommons/training_policies, training_rules.adoc at v3.1 (the last version with this benchmark), and
// mlcommons/logging, compliance_checker/training_3.1.0.
#pragma once

#include <cmath>
#include <cstdint>

namespace ttt::result::mlperf {

inline constexpr double kBoxTarget = 0.377, kMaskTarget = 0.339;
// of train2017's 118287: those with a box of more than one pixel each way
inline constexpr std::int64_t kTrainImages = 117266;
inline constexpr std::int64_t kEvalImages = 5000;
inline constexpr double kInitMinutesClosed = 30, kInitMinutesOpen = 240;
inline constexpr std::int64_t kRuns = 5;
inline constexpr double kRateUnit = 0.02;        // base learning rates are multiples of it
inline constexpr std::int64_t kSmallBatch = 16;  // below it also its fractions
inline constexpr double kDecayFactor = 0.1;
inline constexpr std::int64_t kCandidates = 1000;

// As the checker rounds.
inline bool is_integer(double x) { return std::isfinite(x) && std::abs(std::nearbyint(x) - x) < 1e-5; }

inline bool base_rate_allowed(double rate, double global_batch) {
  return is_integer(rate / kRateUnit) || (global_batch < kSmallBatch && rate != 0 && is_integer(kRateUnit / rate));
}

}  // namespace ttt::result::mlperf
