// Reference convergence points: how many epochs the reference needs at a batch size, and whether several runs needed
// suspiciously fewer. Source: mlcommons/logging, rcp_checker/training_3.1.0/rcps_maskrcnn.json and rcp_checker.py;
// MLPerf training rules, "Reference Convergence Points".
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace ttt::reports {

struct ReferencePoint {
  double global_batch = 0;
  double mean = 0;       // epochs, without the fastest and the slowest reference run
  double deviation = 0;  // population standard deviation over all reference runs
  double least = 0;      // the fewest mean epochs that a one-sided t-test at 5 % does not reject
};

// The published points, by batch size.
std::vector<ReferencePoint> reference_points();
// Those that the rules apply: a point that is slower than the line between its neighbours is left out.
std::vector<ReferencePoint> pruned_reference_points();

enum class RcpVerdict { kPass, kNormalised, kFail, kNoReference };
const char* rcp_verdict_name(RcpVerdict verdict);

struct RcpResult {
  RcpVerdict verdict = RcpVerdict::kNoReference;
  ReferencePoint reference;  // at this batch; of the smallest published batch below it
  double mean_epochs = 0;    // of the runs, without the fewest and the most
  // the score is multiplied by it: reference mean / mean epochs where that is more than 1 and not refused
  double factor = 1;
  std::string how;  // "published", "between 8 and 128", ...
};

// `epochs` of the runs that are scored; one that did not reach the target is infinite. Three or more runs.
RcpResult compare_with_reference(double global_batch, std::vector<double> epochs);

// P(T > t) of Student's distribution with `freedom` degrees of freedom (Abramowitz and Stegun 26.7.3 and 26.7.4).
double student_upper_tail(double t, int freedom);

}  // namespace ttt::reports
