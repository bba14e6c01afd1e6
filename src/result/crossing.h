// When a training met its target, between evaluations too.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/statistics.h"
#include "result/run_record.h"

namespace ttt::result {

// MLPerf's rule counts the first evaluation that meets the target. It knows the epochs to the interval between
// evaluations only, and an evaluation that is lucky by its noise passes. The crossing is where the trend of the
// accuracy meets the target. The trend is a straight line over the logarithm of the epochs, through the evaluations
// from `kCrossingFrom` of the reaching one's epochs on. Of several metrics the last crossing counts. The noise of one
// evaluation is measured: the distances of the evaluations to that line.
struct Crossing {
  Interval epochs;            // passes over the training images; low and high are the estimate where !has_interval
  std::string metric;         // that crossed last
  int evaluations = 0;        // that the line is through
  double noise = 0;           // deviation of one evaluation of that metric, in its unit; 0 where !has_interval
  bool has_interval = false;  // else too few evaluations: a straight line between the two around the target
};
inline constexpr double kCrossingFrom = 0.5;
inline constexpr int kCrossingEvaluations = 5;  // least for a line: three degrees of freedom for the noise

// Of evaluations in their order, up to the first that reaches the target. Nothing where none does, or the first of all.
std::optional<Crossing> crossing(const std::vector<AccuracyPoint>& evaluations, const Metrics& target);
// Nothing also where the number of training images is not known.
std::optional<Crossing> crossing(const RunRecord& record);

}  // namespace ttt::result
