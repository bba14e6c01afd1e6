#include "result/crossing.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "result/time_factors.h"

namespace ttt::result {
namespace {

struct Curve {
  std::vector<double> epochs, values;  // up to the reaching evaluation
};

std::optional<Crossing> by_line(const Curve& curve, const Metric& bound) {
  std::vector<double> x, y;
  for (std::size_t i = 0; i < curve.epochs.size(); ++i)
    if (curve.epochs[i] >= kCrossingFrom * curve.epochs.back())
      x.push_back(std::log(curve.epochs[i])), y.push_back(curve.values[i]);
  if (static_cast<int>(x.size()) < kCrossingEvaluations) return std::nullopt;
  const auto at = line_crossing(x, y, bound.value);
  if (!at) return std::nullopt;
  return Crossing{.epochs = {std::exp(at->x.estimate), std::exp(at->x.low), std::exp(at->x.high)},
      .metric = bound.name,
      .evaluations = static_cast<int>(x.size()),
      .noise = at->noise,
      .has_interval = true};
}

// Between the last evaluation below and the next one; the first evaluation where all are above.
Crossing by_interpolation(const Curve& curve, const Metric& bound) {
  std::size_t above = curve.values.size() - 1;
  while (above > 0 && curve.values[above - 1] >= bound.value) --above;
  double epochs = curve.epochs[above];
  if (above > 0) {
    const double part = (bound.value - curve.values[above - 1]) / (curve.values[above] - curve.values[above - 1]);
    epochs = curve.epochs[above - 1] + part * (epochs - curve.epochs[above - 1]);
  }
  return {.epochs = {epochs, epochs, epochs},
      .metric = bound.name,
      .evaluations = static_cast<int>(std::min<std::size_t>(2, above + 1))};
}

}  // namespace

std::optional<Crossing> crossing(const std::vector<AccuracyPoint>& evaluations, const Metrics& target) {
  const auto end = std::find_if(
      evaluations.begin(), evaluations.end(), [&](const AccuracyPoint& e) { return reached(e.metrics, target); });
  if (end == evaluations.end() || end == evaluations.begin()) return std::nullopt;
  std::optional<Crossing> last;
  double low = 0, high = 0;
  bool all_lines = true;
  for (const Metric& bound : target) {
    Curve curve;
    for (auto e = evaluations.begin(); e <= end; ++e) {
      const double* value = find(e->metrics, bound.name);
      curve.epochs.push_back(e->epochs);
      curve.values.push_back(value ? *value : 0);
    }
    const auto line = by_line(curve, bound);
    const Crossing one = line ? *line : by_interpolation(curve, bound);
    all_lines &= line.has_value();
    low = std::max(low, one.epochs.low), high = std::max(high, one.epochs.high);
    if (!last || one.epochs.estimate > last->epochs.estimate) last = one;
  }
  if (!last) return std::nullopt;
  last->has_interval = all_lines;
  last->epochs = all_lines ? Interval{last->epochs.estimate, low, high}
                           : Interval{last->epochs.estimate, last->epochs.estimate, last->epochs.estimate};
  if (!all_lines) last->noise = 0;
  return last;
}

std::optional<Crossing> crossing(const RunRecord& r) {
  const double images = train_images_of(r);
  if (images <= 0 || !reaching_evaluation(r)) return std::nullopt;
  std::vector<AccuracyPoint> evaluations;
  for (const Evaluation& e : r.accuracy) evaluations.push_back({static_cast<double>(e.images) / images, e.metrics});
  return crossing(evaluations, *r.target);
}

}  // namespace ttt::result
