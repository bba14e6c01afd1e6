#include "result/exchange.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace ttt::result {
namespace {

constexpr std::size_t kFewestEvaluations = 3;  // of a training: two of them have no distance to their line

double share(const AccuracyPoint& point, const Metrics& target) {
  double least = std::numeric_limits<double>::infinity();
  for (const Metric& bound : target) {
    const double* value = find(point.metrics, bound.name);
    least = std::min(least, (value ? *value : 0) / bound.value);
  }
  return least;
}

double mean_of(const Training& t, const std::string& metric) {
  std::vector<double> values;
  for (const AccuracyPoint& p : t.accuracy) {
    const double* value = find(p.metrics, metric);
    values.push_back(value ? *value : 0);
  }
  return sum(values) / static_cast<double>(values.size());
}

// The mean of the samples with its standard error.
Estimate mean_estimate(const std::vector<double>& samples) {
  const auto n = static_cast<double>(samples.size());
  const double mean = sum(samples) / n;
  double squares = 0;
  for (const double x : samples) squares += (x - mean) * (x - mean);
  return {mean, std::sqrt(squares / (n - 1) / n)};
}

Interval around(const Estimate& e, double t) { return {e.value, e.value - t * e.error, e.value + t * e.error}; }

// One slope through the evaluations of each training around its own mean.
std::optional<Estimate> common_slope(const std::vector<const Training*>& trainings, const Metrics& target) {
  double xx = 0, xy = 0, yy = 0;
  std::size_t points = 0;
  for (const Training* t : trainings) {
    if (t->accuracy.size() < kFewestEvaluations) return std::nullopt;
    std::vector<double> x, y;
    for (const AccuracyPoint& p : t->accuracy) x.push_back(std::log(p.epochs)), y.push_back(share(p, target));
    const auto n = static_cast<double>(x.size());
    const double x_mean = sum(x) / n, y_mean = sum(y) / n;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double dx = x[i] - x_mean, dy = y[i] - y_mean;
      xx += dx * dx, xy += dx * dy, yy += dy * dy;
    }
    points += x.size();
  }
  if (xx <= 0) return std::nullopt;
  const double slope = xy / xx, freedom = static_cast<double>(points - trainings.size()) - 1;
  return Estimate{slope, std::sqrt(std::max(0.0, yy - slope * xy) / freedom / xx)};
}

}  // namespace

double progress(const Training& t, const Metrics& target) {
  if (t.accuracy.empty()) throw std::invalid_argument("progress of a training without evaluations");
  std::vector<double> shares;
  for (const AccuracyPoint& p : t.accuracy) shares.push_back(share(p, target));
  return sum(shares) / static_cast<double>(shares.size());
}

std::optional<Exchange> exchange(const ConvergenceRow& row, const std::string& variant) {
  std::vector<const Training*> both;
  std::vector<double> differences;
  std::map<std::string, std::vector<double>> by_metric;
  for (const Training& a : row.trainings) {
    if (a.variant != row.baseline || a.accuracy.empty()) continue;
    const auto b = std::find_if(row.trainings.begin(), row.trainings.end(),
        [&](const Training& t) { return t.variant == variant && t.seed == a.seed && !t.accuracy.empty(); });
    if (b == row.trainings.end()) continue;
    both.insert(both.end(), {&a, &*b});
    differences.push_back(progress(*b, row.target) - progress(a, row.target));
    for (const Metric& bound : row.target)
      by_metric[bound.name].push_back(mean_of(*b, bound.name) - mean_of(a, bound.name));
  }
  if (differences.size() < kFewestPairs) return std::nullopt;
  const auto slope = common_slope(both, row.target);
  if (!slope) return std::nullopt;
  const int freedom = static_cast<int>(differences.size()) - 1;
  const double t = student_t_quantile((1 + row.confidence) / 2, freedom);
  const Estimate d = mean_estimate(differences);
  const auto steps = ratio_interval({-d.value, d.error}, *slope, t);
  if (!steps) return std::nullopt;
  Exchange e{.pairs = differences.size(),
      .progress = around(d, t),
      .slope = slope->value,
      .steps = {std::expm1(steps->estimate), std::expm1(steps->low), std::expm1(steps->high)}};
  for (const auto& [name, values] : by_metric) e.metrics[name] = around(mean_estimate(values), t);
  const double error = d.error / slope->value;  // of the mean, in log(steps)
  e.deviation = error * std::sqrt(static_cast<double>(differences.size()));
  e.detectable = std::expm1((t + student_t_quantile(0.9, freedom)) * error);
  return e;
}

}  // namespace ttt::result
