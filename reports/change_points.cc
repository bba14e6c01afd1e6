#include "reports/change_points.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/rng.h"

namespace ttt::reports {
namespace {

constexpr std::size_t kLeastSamples = 3;  // of each side
constexpr int kOrders = 1999;

// Mean ranks less their mean: their sum over all samples is zero.
std::vector<double> centred_ranks(const double* series, std::size_t n) {
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return series[a] < series[b]; });
  std::vector<double> ranks(n);
  for (std::size_t begin = 0, end = 0; begin < n; begin = end) {
    while (end < n && series[order[end]] == series[order[begin]]) ++end;
    for (std::size_t i = begin; i < end; ++i)
      ranks[order[i]] = (static_cast<double>(begin + end) - static_cast<double>(n)) / 2;
  }
  return ranks;
}

struct Split {
  double strength = 0;
  std::size_t at = 0;
};
Split strongest_split(const std::vector<double>& ranks) {
  const std::size_t n = ranks.size();
  Split best;
  double below = 0;  // sum of the ranks before `at`
  for (std::size_t at = 1; at + kLeastSamples <= n; ++at) {
    below += ranks[at - 1];
    const double strength = std::abs(below) / std::sqrt(static_cast<double>(at * (n - at)));
    if (at >= kLeastSamples && strength > best.strength) best = {strength, at};
  }
  return best;
}

void search(const std::vector<double>& series, std::size_t begin, std::size_t end, std::vector<std::size_t>& found) {
  if (end - begin < 2 * kLeastSamples) return;
  std::vector<double> ranks = centred_ranks(series.data() + begin, end - begin);
  const Split split = strongest_split(ranks);
  Stream random(random_bits(begin, Purpose::kPermutation, end));
  int reached = 1;  // the order that was measured is one of them
  for (int order = 0; order < kOrders; ++order) {
    for (std::size_t i = ranks.size(); i > 1; --i) std::swap(ranks[i - 1], ranks[random.below(i)]);
    reached += strongest_split(ranks).strength >= split.strength * (1 - 1e-12);
  }
  if (reached > kFalseAlarms * (kOrders + 1)) return;
  search(series, begin, begin + split.at, found);
  found.push_back(begin + split.at);
  search(series, begin + split.at, end, found);
}

}  // namespace

std::vector<std::size_t> change_points(const std::vector<double>& series) {
  std::vector<std::size_t> found;
  search(series, 0, series.size(), found);
  return found;
}

}  // namespace ttt::reports
