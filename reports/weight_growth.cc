#include "reports/weight_growth.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "core/statistics.h"

namespace ttt::reports {
namespace {

constexpr std::size_t kWidest = 20;
// Beyond what chance does in any run: with Gaussian noise and 36 degrees of freedom, once in a million samples.
constexpr double kStrength = 6;
constexpr double kSmallestGrowth = 1e-6;  // of the norm over a window: less is rounding
constexpr double kJumpStrength = 10, kSmallestJump = 1e-3;
constexpr double kDeviation = 1.4826;  // median absolute deviation to standard deviation of a normal distribution

double mean(std::span<const double> v) {
  return std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(v.size());
}

// Least squares over positions 0, 1, ... and what it says at `x`.
struct Line {
  // the value there; sums of the residuals' squares, and of their products with their neighbours
  double at = 0, squares = 0, products = 0;
};
Line fit(std::span<const double> y, double x) {
  const double n = static_cast<double>(y.size()), middle = (n - 1) / 2, sxx = n * (n * n - 1) / 12, level = mean(y);
  double slope = 0, squares = 0, products = 0, last = 0;
  for (std::size_t i = 0; i < y.size(); ++i) slope += (static_cast<double>(i) - middle) * (y[i] - level) / sxx;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double r = y[i] - level - slope * (static_cast<double>(i) - middle);
    squares += r * r, products += r * last;
    last = r;
  }
  return {level + slope * (x - middle), squares, products};
}

}  // namespace

WeightGrowth::WeightGrowth(const std::vector<std::int64_t>& step, const std::vector<double>& norm) : step_(step) {
  for (std::size_t i = 1; i < step.size(); ++i)
    growth_.push_back(std::log(norm[i] / norm[i - 1]) / static_cast<double>(step[i] - step[i - 1]));
  const std::size_t w = std::min(kWidest, growth_.size() / 3);
  window_ = w >= kFewest ? w : 0;
}

// Lines, not means: a growth that falls slowly, as in every run, has no step at any place. `boundary`: the sample
// between the two windows.
double WeightGrowth::strength(std::size_t boundary) const {
  const std::size_t w = window_;
  const double n = static_cast<double>(w);
  const Line before = fit(std::span(growth_).subspan(boundary - w, w), n - 0.5),
             after = fit(std::span(growth_).subspan(boundary, w), -0.5);
  const double squares = before.squares + after.squares, variance = squares / (2 * n - 4);
  // Momentum makes the growth of neighbouring samples alike, so that they say less than as many independent ones would:
  // the variance of a first-order autoregression. Residuals of a fitted line are less alike than what they are
  // residuals of, by about (2 + 4 r) / n.
  const double r = squares > 0 ? (before.products + after.products) / squares : 0,
               alike = std::clamp(r + (2 + 4 * r) / n, 0.0, 0.9);
  const double rounding = kSmallestGrowth / n * 1e-3 / static_cast<double>(step_[boundary] - step_[boundary - 1]);
  // Variance of a fitted line half a position outside of its n.
  const double share = 1 / n + (n / 2) * (n / 2) * 12 / (n * (n * n - 1));
  return (after.at - before.at) / std::sqrt(2 * share * (variance * (1 + alike) / (1 - alike) + rounding * rounding));
}

std::vector<WeightGrowth::Change> WeightGrowth::changes() const {
  std::vector<Change> out;
  const std::size_t w = window_;
  if (w == 0) return out;
  std::vector<double> found(growth_.size() + 1, 0.0);
  for (std::size_t k = w; k + w <= growth_.size(); ++k) found[k] = strength(k);
  for (std::size_t k = w; k + w <= growth_.size(); ++k) {
    const auto around = std::span(found).subspan(k - w, std::min(2 * w + 1, found.size() - (k - w)));
    if (std::abs(found[k]) < kStrength ||
        std::any_of(around.begin(), around.end(), [&](double t) { return std::abs(t) > std::abs(found[k]); }))
      continue;
    const Change c{.step = step_[k],
        .before = mean(std::span(growth_).subspan(k - w, w)),
        .after = mean(std::span(growth_).subspan(k, w)),
        .strength = found[k]};
    const double larger = std::max(std::abs(c.before), std::abs(c.after));
    const bool matters = std::abs(c.after - c.before) >= larger / 2 &&
                         larger * static_cast<double>(step_[k] - step_[k - w]) >= kSmallestGrowth;
    if (matters) out.push_back(c);
  }
  return out;
}

std::vector<WeightGrowth::Jump> WeightGrowth::jumps() const {
  std::vector<Jump> out;
  // With whole windows alone: a run's first samples grow as no later ones do.
  for (std::size_t k = window_; window_ > 0 && k + window_ < growth_.size(); ++k) {
    std::vector<double> around;
    for (std::size_t i = k - window_; i <= k + window_; ++i)
      if (i != k) around.push_back(growth_[i]);
    const double usual = median(around);
    for (double& g : around) g = std::abs(g - usual);
    const double away = growth_[k] - usual, relative = std::expm1(away * static_cast<double>(step_[k + 1] - step_[k]));
    if (std::abs(away) > kJumpStrength * kDeviation * median(around) && std::abs(relative) >= kSmallestJump)
      out.push_back({step_[k + 1], relative});
  }
  return out;
}

WeightGrowth::Sides WeightGrowth::sides(std::int64_t step) const {
  Sides s;
  if (step_.empty()) return s;
  // The sample nearest to the step: what lies on the wrong side of it is less than half of a pair.
  const auto nearest = std::min_element(step_.begin(), step_.end(),
      [&](std::int64_t a, std::int64_t b) { return std::abs(a - step) < std::abs(b - step); });
  const auto k = static_cast<std::size_t>(nearest - step_.begin());
  const std::size_t before = std::min(k, kWidest), after = std::min(growth_.size() - k, kWidest);
  if (before < kFewest || after < kFewest) return s;
  s.before.assign(
      growth_.begin() + static_cast<std::ptrdiff_t>(k - before), growth_.begin() + static_cast<std::ptrdiff_t>(k));
  s.after.assign(
      growth_.begin() + static_cast<std::ptrdiff_t>(k), growth_.begin() + static_cast<std::ptrdiff_t>(k + after));
  return s;
}

}  // namespace ttt::reports
