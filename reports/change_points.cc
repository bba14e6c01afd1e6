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
// The strongest place within [begin, end), by sums of the ranks before each sample.
void look(const std::vector<double>& sums, std::size_t begin, std::size_t end, Split& best) {
  const double all = sums[end] - sums[begin], n = static_cast<double>(end - begin);
  for (std::size_t at = begin + kLeastSamples; at + kLeastSamples <= end; ++at) {
    const double t = static_cast<double>(at - begin);
    const double strength = std::abs(sums[at] - sums[begin] - t / n * all) / std::sqrt(t * (n - t) / n);
    if (strength > best.strength) best = {strength, at};
  }
}

// Over all stretches of these lengths, each half a length after the one before: a step up does not hide one down.
Split strongest_split(const std::vector<double>& ranks) {
  std::vector<double> sums = {0};
  for (const double r : ranks) sums.push_back(sums.back() + r);
  Split best;
  for (std::size_t length = ranks.size(); length >= 2 * kLeastSamples; length = length * 7 / 10)
    for (std::size_t begin = 0; begin < ranks.size(); begin += length / 2)
      look(sums, begin, std::min(begin + length, ranks.size()), best);
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
