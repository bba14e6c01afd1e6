#include "reports/rcp.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <tuple>

#include "result/mlperf_limits.h"

namespace ttt::reports {
namespace {

struct Published {
  double global_batch;
  std::vector<double> epochs;
};

// rcps_maskrcnn.json of 3.1.0 (the same in 2.1.0 and 3.0.0): batch size and epochs to converge of each reference run.
const std::vector<Published>& published() {
  static const std::vector<Published> points = {
      {8, {13, 13, 12, 13, 13, 13, 13, 12, 13, 12}},
      {48, {14, 14, 14, 14, 14, 14, 14, 14, 14, 14}},
      {64, {14, 14, 14, 14, 14, 14, 14, 14, 14, 20}},
      {96, {14, 15, 14, 14, 14, 14, 14, 14, 14, 13, 14, 14, 15, 14, 14, 14, 14, 14, 14, 14}},
      {128, {14, 14, 14, 14, 14, 14, 14, 14, 14, 14}},
      {256, {17, 17, 18, 17, 17, 17, 17, 17, 17, 17}},
      {272, {18, 17, 17, 18, 17, 17, 17, 17, 17, 16}},
  };
  return points;
}

double mean_without_ends(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return std::accumulate(values.begin() + 1, values.end() - 1, 0.0) / static_cast<double>(values.size() - 2);
}

double population_deviation(const std::vector<double>& values) {
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  double squares = 0;
  for (const double v : values) squares += (v - mean) * (v - mean);
  return std::sqrt(squares / static_cast<double>(values.size()));
}

// The checker's own search, with its tolerance: the limit is what it says, not the root that it approaches.
double least_mean(double mean, double deviation, int reference_runs) {
  if (deviation == 0) return mean;
  const int runs = static_cast<int>(result::mlperf::kRuns) - 2, freedom = reference_runs + runs - 2;
  const double error = deviation * std::sqrt(1.0 / reference_runs + 1.0 / runs);
  double low = 0, high = mean;
  while (high - low > 1e-4) {
    const double middle = (low + high) / 2;
    (student_upper_tail((mean - middle) / error, freedom) > 0.05 ? high : low) = middle;
  }
  return (low + high) / 2;
}

ReferencePoint between(const ReferencePoint& a, const ReferencePoint& b, double global_batch) {
  const double part = (global_batch - a.global_batch) / (b.global_batch - a.global_batch);
  ReferencePoint p{.global_batch = global_batch,
      .mean = a.mean + part * (b.mean - a.mean),
      .deviation = a.deviation + part * (b.deviation - a.deviation)};
  p.least = least_mean(p.mean, p.deviation, 2 * static_cast<int>(result::mlperf::kRuns));
  return p;
}

// The point for a batch size and where it comes from; nothing above the largest published one.
std::optional<std::pair<ReferencePoint, std::string>> point_for(double global_batch) {
  const std::vector<ReferencePoint> points = pruned_reference_points();
  const auto above = std::find_if(
      points.begin(), points.end(), [&](const ReferencePoint& p) { return p.global_batch >= global_batch; });
  if (above == points.end()) return std::nullopt;
  const auto batch = [](const ReferencePoint& p) { return std::to_string(std::llround(p.global_batch)); };
  if (above->global_batch == global_batch) return std::pair{*above, std::string("published")};
  if (above == points.begin()) return std::pair{*above, "of batch " + batch(*above) + ", the smallest published"};
  return std::pair{
      between(*(above - 1), *above, global_batch), "between batches " + batch(*(above - 1)) + " and " + batch(*above)};
}

}  // namespace

double student_upper_tail(double t, int freedom) {
  const double angle = std::atan(std::abs(t) / std::sqrt(freedom)), c = std::cos(angle), s = std::sin(angle);
  double term = freedom % 2 ? c : 1, series = freedom == 1 ? 0 : term;
  for (int k = freedom % 2 ? 3 : 2; k < freedom; k += 2) {
    term *= c * c * (k - 1) / k;
    series += term;
  }
  const double within = freedom % 2 ? 2 / std::numbers::pi * (angle + s * series) : s * series;  // P(|T| < |t|)
  return t >= 0 ? (1 - within) / 2 : (1 + within) / 2;
}

std::vector<ReferencePoint> reference_points() {
  std::vector<ReferencePoint> points;
  for (const Published& p : published()) {
    ReferencePoint point{.global_batch = p.global_batch,
        .mean = mean_without_ends(p.epochs),
        .deviation = population_deviation(p.epochs)};
    point.least = least_mean(point.mean, point.deviation, static_cast<int>(p.epochs.size()) - 2);
    points.push_back(point);
  }
  return points;
}

std::vector<ReferencePoint> pruned_reference_points() {
  std::vector<ReferencePoint> points = reference_points();
  // Batches below the one that converges fastest say nothing.
  const auto fastest =
      std::min_element(points.begin(), points.end(), [](const auto& a, const auto& b) { return a.mean < b.mean; });
  points.erase(points.begin(), fastest);
  for (std::size_t i = 1; i + 1 < points.size();) {
    if (points[i].mean > between(points[i - 1], points[i + 1], points[i].global_batch).mean) {
      // the next one has its place; the checker does not go back either
      points.erase(points.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
  return points;
}

const char* rcp_verdict_name(RcpVerdict verdict) {
  switch (verdict) {
    case RcpVerdict::kPass: return "pass";
    case RcpVerdict::kNormalised: return "pass, normalised";
    case RcpVerdict::kFail: return "fail";
    default: return "no reference at this batch";
  }
}

RcpResult compare_with_reference(double global_batch, std::vector<double> epochs) {
  RcpResult r{.mean_epochs = mean_without_ends(std::move(epochs))};
  const auto point = point_for(global_batch);
  if (!point) return r;
  std::tie(r.reference, r.how) = *point;
  if (r.mean_epochs < r.reference.least) {
    r.verdict = RcpVerdict::kFail;
  } else if (r.mean_epochs < r.reference.mean) {
    r.verdict = RcpVerdict::kNormalised;
    r.factor = r.reference.mean / r.mean_epochs;
  } else {
    r.verdict = RcpVerdict::kPass;
  }
  return r;
}

}  // namespace ttt::reports
