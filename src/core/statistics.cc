#include "core/statistics.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace ttt {

double quantile(std::vector<double> samples, double q) {
  if (samples.empty() || !(q >= 0 && q <= 1))
    throw std::invalid_argument("quantile of no samples, or q outside [0, 1]");
  const double position = q * static_cast<double>(samples.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const auto at = samples.begin() + static_cast<std::ptrdiff_t>(below);
  std::nth_element(samples.begin(), at, samples.end());
  if (below + 1 == samples.size()) return *at;
  const double lower = *at, upper = *std::min_element(at + 1, samples.end());
  return lower + (upper - lower) * (position - static_cast<double>(below));
}

double median(const std::vector<double>& samples) { return quantile(samples, 0.5); }

double sum(const std::vector<double>& samples) {
  double total = 0, lost = 0;
  for (const double x : samples) {
    const double next = total + x;
    lost += std::abs(total) >= std::abs(x) ? (total - next) + x : (x - next) + total;
    total = next;
  }
  return total + lost;
}

double olympic_mean(std::vector<double> runs) {
  if (runs.size() < 5) throw std::invalid_argument("the Olympic mean of fewer than five runs");
  std::sort(runs.begin(), runs.end());
  if (std::isinf(runs[runs.size() - 2])) return runs.back();
  return sum({runs.begin() + 1, runs.end() - 1}) / static_cast<double>(runs.size() - 2);
}

namespace {

std::vector<double> pairwise_means(const std::vector<double>& samples) {
  std::vector<double> means;
  means.reserve(samples.size() * (samples.size() + 1) / 2);
  for (std::size_t i = 0; i < samples.size(); ++i)
    for (std::size_t j = i; j < samples.size(); ++j) means.push_back((samples[i] + samples[j]) / 2);
  return means;
}

// By how many deviations a normal variable exceeds its mean with the probability `tail`, below 0.5.
double normal_deviations(double tail) {
  double low = 0, high = 40;
  while (std::nextafter(low, high) < high) {
    const double middle = (low + high) / 2;
    (std::erfc(middle / std::sqrt(2.0)) / 2 > tail ? low : high) = middle;
  }
  return high;
}

// The largest w with P(W < w) <= tail, where W is the signed-rank statistic of n samples: R's qsignrank(tail, n). 0
// where that is none.
std::size_t critical_rank(std::size_t n, double tail) {
  const double total = static_cast<double>(n * (n + 1) / 2);
  if (n >= 50) {
    const double deviation = std::sqrt(total * static_cast<double>(2 * n + 1) / 12);
    return static_cast<std::size_t>(std::max(0.0, std::floor(total / 2 - normal_deviations(tail) * deviation)));
  }
  std::vector<double> ways(n * (n + 1) / 2 + 1, 0.0);  // subsets of {1 .. n} by their sum; at most 2^49, exact
  ways[0] = 1;
  for (std::size_t k = 1; k <= n; ++k)
    for (std::size_t w = ways.size() - 1; w >= k; --w) ways[w] += ways[w - k];
  const double all = std::exp2(static_cast<double>(n));
  double below = 0;
  for (std::size_t w = 0; w < ways.size(); ++w) {
    below += ways[w];
    if (below / all > tail) return w;
  }
  return ways.size() - 1;
}

// The largest k with P(X < k) <= 0.025, where X counts heads of n fair coins; 0 where there is none.
std::size_t critical_heads(std::size_t n) {
  const auto N = static_cast<double>(n);
  double below = 0;
  for (std::size_t k = 0; k <= n / 2; ++k) {
    const auto K = static_cast<double>(k);
    below += std::exp(std::lgamma(N + 1) - std::lgamma(K + 1) - std::lgamma(N - K + 1) - N * std::log(2.0));
    if (below > 0.025) return k;
  }
  return n / 2;
}

}  // namespace

double hodges_lehmann(const std::vector<double>& samples) { return median(pairwise_means(samples)); }

std::optional<Bounds> median_interval(std::vector<double> samples) {
  const std::size_t k = critical_heads(samples.size());
  if (k == 0) return std::nullopt;
  std::sort(samples.begin(), samples.end());
  return Bounds{samples[k - 1], samples[samples.size() - k]};
}

std::optional<Interval> signed_rank_interval(const std::vector<double>& samples, double confidence) {
  const std::size_t rank = critical_rank(samples.size(), (1 - confidence) / 2);
  if (rank == 0) return std::nullopt;
  std::vector<double> means = pairwise_means(samples);
  std::sort(means.begin(), means.end());
  return Interval{median(means), means[rank - 1], means[means.size() - rank]};
}

namespace {

// How many of n * m sorted differences may be left out at either end: the largest k with P(U < k) <= 0.025, U the
// Mann-Whitney statistic.
std::size_t differences_outside(std::size_t n, std::size_t m) {
  const std::size_t all = n * m;
  if (all > 400) {
    const double deviation = std::sqrt(static_cast<double>(all) * static_cast<double>(n + m + 1) / 12);
    return static_cast<std::size_t>(
        std::max(0.0, std::floor(static_cast<double>(all) / 2 - 1.959963984540054 * deviation)));
  }
  // Orders of the two samples by their U: coefficients of the Gaussian binomial (n + m over n).
  std::vector<double> ways(all + 1, 0.0);
  ways[0] = 1;
  for (std::size_t i = 1; i <= n; ++i) {
    for (std::size_t u = all; u >= m + i && u <= all; --u) ways[u] -= ways[u - m - i];
    for (std::size_t u = i; u <= all; ++u) ways[u] += ways[u - i];
  }
  const double total = sum(ways);
  double below = 0;
  for (std::size_t k = 0; k < all; ++k) {
    below += ways[k];
    if (below / total > 0.025) return k;
  }
  return all;
}

}  // namespace

std::optional<Interval> rank_sum_interval(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.empty() || b.empty()) return std::nullopt;
  const std::size_t outside = differences_outside(a.size(), b.size());
  if (outside == 0) return std::nullopt;
  std::vector<double> differences;
  for (const double y : b)
    for (const double x : a) differences.push_back(y - x);
  std::sort(differences.begin(), differences.end());
  return Interval{median(differences), differences[outside - 1], differences[differences.size() - outside]};
}

namespace {

// Twice the ranks of both samples together, so that the mean ranks of tied values are whole.
struct PooledRanks {
  std::vector<std::size_t> all;  // of both samples, ascending
  std::size_t sum_of_a = 0;
  double tie_term = 0;  // sum over ties of t^3 - t
};
PooledRanks pooled_ranks(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<std::pair<double, bool>> pool;
  for (const double x : a) pool.emplace_back(x, true);
  for (const double x : b) pool.emplace_back(x, false);
  std::sort(pool.begin(), pool.end());
  PooledRanks ranks;
  for (std::size_t begin = 0, end = 0; begin < pool.size(); begin = end) {
    while (end < pool.size() && pool[end].first == pool[begin].first) ++end;
    const double t = static_cast<double>(end - begin);
    ranks.tie_term += t * t * t - t;
    for (std::size_t i = begin; i < end; ++i) {
      ranks.all.push_back(begin + end + 1);
      if (pool[i].second) ranks.sum_of_a += begin + end + 1;
    }
  }
  return ranks;
}

// The share of all choices of `n` ranks whose sum is at most, and at least, the one observed: the smaller, twice.
double exact_p(const PooledRanks& ranks, std::size_t n) {
  const std::size_t most = std::accumulate(ranks.all.begin(), ranks.all.end(), std::size_t{0});
  std::vector<std::vector<double>> ways(n + 1, std::vector<double>(most + 1, 0.0));  // by count and sum
  ways[0][0] = 1;
  for (const std::size_t rank : ranks.all)
    for (std::size_t k = n; k >= 1; --k)
      for (std::size_t s = most; s >= rank; --s) ways[k][s] += ways[k - 1][s - rank];
  const auto at = ways[n].begin() + static_cast<std::ptrdiff_t>(ranks.sum_of_a);
  const double below = std::accumulate(ways[n].begin(), at + 1, 0.0), above = std::accumulate(at, ways[n].end(), 0.0);
  return std::min(1.0, 2 * std::min(below, above) / (below + above - *at));
}

}  // namespace

double rank_sum_p(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.empty() || b.empty()) throw std::invalid_argument("a rank-sum test of no samples");
  const PooledRanks ranks = pooled_ranks(a, b);
  if (ranks.all.size() <= 50) return exact_p(ranks, a.size());
  const auto n = static_cast<double>(a.size()), m = static_cast<double>(b.size());
  const double u = static_cast<double>(ranks.sum_of_a) / 2 - n * (n + 1) / 2;
  const double variance = n * m / 12 * (n + m + 1 - ranks.tie_term / ((n + m) * (n + m - 1)));
  const double distance = std::max(0.0, std::abs(u - n * m / 2) - 0.5);
  return variance > 0 ? std::min(1.0, std::erfc(distance / std::sqrt(2 * variance))) : 1;
}

namespace {

// P(|T| < t) of Student's t.
double student_t_within(double t, int degrees) {
  const double angle = std::atan(t / std::sqrt(degrees)), c = std::cos(angle);
  const bool odd = degrees % 2 == 1;
  double term = odd ? c : 1, series = degrees == 1 ? 0 : term;
  for (int k = odd ? 3 : 2; k < degrees; k += 2) {
    term *= c * c * (k - 1) / k;
    series += term;
  }
  return odd ? (angle + std::sin(angle) * series) * 2 / std::numbers::pi : std::sin(angle) * series;
}

}  // namespace

double student_t_quantile(double q, int degrees) {
  if (!(q > 0.5 && q < 1) || degrees < 1) throw std::invalid_argument("student_t_quantile of q outside (0.5, 1)");
  double low = 0, high = 1;
  while (student_t_within(high, degrees) < 2 * q - 1) high *= 2;
  for (double middle; (middle = low + (high - low) / 2) > low && middle < high;)
    (student_t_within(middle, degrees) < 2 * q - 1 ? low : high) = middle;
  return high;
}

Estimate mean_estimate(const std::vector<double>& samples) {
  const auto n = static_cast<double>(samples.size());
  const double mean = sum(samples) / n;
  double squares = 0;
  for (const double x : samples) squares += (x - mean) * (x - mean);
  return {mean, std::sqrt(squares / (n - 1) / n)};
}

std::optional<Interval> ratio_interval(
    const Estimate& numerator, const Estimate& denominator, double t, double covariance) {
  // (numerator - r denominator)^2 <= t^2 (error of numerator^2 - 2 r covariance + r^2 error of denominator^2), a
  // quadratic in r
  const double tn = t * numerator.error, td = t * denominator.error;
  const double a = denominator.value * denominator.value - td * td;
  if (denominator.value <= 0 || a <= 0) return std::nullopt;
  const double middle = (denominator.value * numerator.value - t * t * covariance) / a;
  const double half = std::sqrt(std::max(0.0, middle * middle - (numerator.value * numerator.value - tn * tn) / a));
  return Interval{numerator.value / denominator.value, middle - half, middle + half};
}

std::optional<LineCrossing> line_crossing(
    const std::vector<double>& x, const std::vector<double>& y, double level, double confidence) {
  if (x.size() != y.size()) throw std::invalid_argument("line_crossing of x and y of different lengths");
  if (x.size() < 3) return std::nullopt;
  const auto n = static_cast<double>(x.size());
  const double x_mean = sum(x) / n, y_mean = sum(y) / n;
  double xx = 0, xy = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double dx = x[i] - x_mean, dy = y[i] - y_mean;
    xx += dx * dx, xy += dx * dy, yy += dy * dy;
  }
  if (xx <= 0) return std::nullopt;
  const double slope = xy / xx, variance = std::max(0.0, yy - slope * xy) / (n - 2);
  const double t = student_t_quantile((1 + confidence) / 2, static_cast<int>(x.size()) - 2);
  const auto beyond = ratio_interval({level - y_mean, std::sqrt(variance / n)}, {slope, std::sqrt(variance / xx)}, t);
  if (!beyond) return std::nullopt;
  return LineCrossing{{x_mean + beyond->estimate, x_mean + beyond->low, x_mean + beyond->high}, std::sqrt(variance)};
}

}  // namespace ttt
