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
// Blocks of a run at most: windows grow with it, and momentum makes only neighbouring samples alike.
constexpr std::size_t kMostBlocks = 100;
constexpr std::size_t kSmallestOfPace = 4;  // pairs in a block: of fewer the logarithm has a long tail below
constexpr std::size_t kUncertainPairs = 5, kUncertainBlocks = 2;  // a change's place, the greater of them
// Per step, far below the rounding of any norm: the logarithm of a norm that stands still is finite. Of a logarithm,
// far below the 0.35 that four Gaussian values leave.
constexpr double kSmallestPace = 1e-12, kPaceRounding = 1e-3;
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

// Lines, not means: a growth that falls slowly, as in every run, has no step at any place. `boundary`: between the two
// windows of w values. `rounding`: standard deviation of a value that is only rounded.
double strength(std::span<const double> y, std::size_t boundary, std::size_t w, double rounding) {
  const double n = static_cast<double>(w);
  const Line before = fit(y.subspan(boundary - w, w), n - 0.5), after = fit(y.subspan(boundary, w), -0.5);
  const double squares = before.squares + after.squares, variance = squares / (2 * n - 4);
  // Momentum makes the growth of neighbouring samples alike, so that they say less than as many independent ones would:
  // the variance of a first-order autoregression. Residuals of a fitted line are less alike than what they are
  // residuals of, by about (2 + 4 r) / n.
  const double r = squares > 0 ? (before.products + after.products) / squares : 0,
               alike = std::clamp(r + (2 + 4 * r) / n, 0.0, 0.9);
  // Variance of a fitted line half a position outside of its n.
  const double share = 1 / n + (n / 2) * (n / 2) * 12 / (n * (n * n - 1));
  return (after.at - before.at) / std::sqrt(2 * share * (variance * (1 + alike) / (1 - alike) + rounding * rounding));
}

// A place where the strength is great, and greater than at every other within a window.
struct Peak {
  std::size_t boundary = 0;
  double strength = 0;
};
std::vector<Peak> peaks(std::span<const double> y, std::size_t w, double rounding) {
  std::vector<double> all(y.size() + 1, 0.0);
  for (std::size_t k = w; k + w <= y.size(); ++k) all[k] = strength(y, k, w, rounding);
  std::vector<Peak> out;
  for (std::size_t k = w; k + w <= y.size(); ++k) {
    const auto around = std::span(all).subspan(k - w, std::min(2 * w + 1, all.size() - (k - w)));
    const auto is_greater = [&](double t) { return std::abs(t) > std::abs(all[k]); };
    if (std::abs(all[k]) >= kStrength && std::none_of(around.begin(), around.end(), is_greater))
      out.push_back({k, all[k]});
  }
  return out;
}

double root_mean_square(std::span<const double> v) {
  return std::sqrt(std::inner_product(v.begin(), v.end(), v.begin(), 0.0) / static_cast<double>(v.size()));
}

// Whether so much changes over `steps` that it is more than rounding, and by half of the larger.
bool matters(double before, double after, std::int64_t steps) {
  const double larger = std::max(std::abs(before), std::abs(after));
  return std::abs(after - before) >= larger / 2 && larger * static_cast<double>(steps) >= kSmallestGrowth;
}

std::size_t window_of(std::size_t values) {
  const std::size_t w = std::min(kWidest, values / 3);
  return w >= WeightGrowth::kFewest ? w : 0;
}

}  // namespace

WeightGrowth::WeightGrowth(const std::vector<std::int64_t>& step, const std::vector<double>& norm) : step_(step) {
  for (std::size_t i = 1; i < step.size(); ++i)
    growth_.push_back(std::log(norm[i] / norm[i - 1]) / static_cast<double>(step[i] - step[i - 1]));
  window_ = window_of(growth_.size());
}

std::vector<WeightGrowth::Change> WeightGrowth::changes() const {
  std::vector<Change> out = changes_of(/*pace=*/false);
  for (const Change& c : changes_of(/*pace=*/true)) {
    const auto is_here = [&](const Change& g) { return std::abs(g.step - c.step) <= std::max(g.within, c.within); };
    if (std::none_of(out.begin(), out.end(), is_here)) out.push_back(c);
  }
  std::ranges::stable_sort(out, {}, &Change::step);
  return out;
}

std::vector<WeightGrowth::Change> WeightGrowth::changes_of(bool pace) const {
  std::vector<Change> out;
  const std::size_t block = std::max<std::size_t>(pace ? kSmallestOfPace : 1, growth_.size() / kMostBlocks),
                    blocks = growth_.size() / block, w = window_of(blocks), reach = w * block;
  if (w == 0) return out;
  const auto size = pace ? root_mean_square : mean;
  const std::span growth(growth_);
  std::vector<double> y;
  for (std::size_t b = 0; b < blocks; ++b) {
    const double of_block = size(growth.subspan(b * block, block));
    // the logarithm: a lower rate makes the pace so many times lower, whatever it was
    y.push_back(pace ? std::log(of_block + kSmallestPace) : of_block);
  }
  const auto steps = [&](std::size_t from, std::size_t to) { return step_[to] - step_[from]; };
  const double every = static_cast<double>(steps(0, block)) / static_cast<double>(block),
               rounding = pace ? kPaceRounding : kSmallestGrowth / static_cast<double>(w) * 1e-3 / every;
  for (const Peak& p : peaks(y, w, rounding)) {
    const std::size_t k = p.boundary * block;
    const Change c{.step = step_[k],
        .of_pace = pace,
        .before = size(growth.subspan(k - reach, reach)),
        .after = size(growth.subspan(k, reach)),
        .strength = p.strength,
        .within = steps(k - std::max(kUncertainPairs, kUncertainBlocks * block), k)};
    if (matters(c.before, c.after, steps(k - reach, k))) out.push_back(c);
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
