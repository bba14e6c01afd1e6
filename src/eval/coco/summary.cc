#include "eval/coco/summary.h"

#include <algorithm>
#include <cstdio>
#include <vector>

namespace ttt::eval::coco {
namespace {

double pairwise_sum(const double* v, std::size_t n) {
  if (n < 8) {
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += v[i];
    return sum;
  }
  if (n <= 128) {
    double r[8];
    for (int j = 0; j < 8; ++j) r[j] = v[j];
    std::size_t i = 8;
    for (; i < n - n % 8; i += 8) {
      for (int j = 0; j < 8; ++j) r[j] += v[i + j];
    }
    double sum = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
    for (; i < n; ++i) sum += v[i];
    return sum;
  }
  std::size_t half = n / 2;
  half -= half % 8;
  return pairwise_sum(v, half) + pairwise_sum(v + half, n - half);
}

// One of the twelve: thresholds [first, last), all recalls or the final one.
struct Statistic {
  bool precision;
  int first, last;
  int area, limit;  // positions in kAreaNames, kMaxDetections
};

constexpr std::array<Statistic, 12> kStatistics = {{
    {true, 0, 10, 0, 2},
    {true, 0, 1, 0, 2},
    {true, 5, 6, 0, 2},
    {true, 0, 10, 1, 2},
    {true, 0, 10, 2, 2},
    {true, 0, 10, 3, 2},
    {false, 0, 10, 0, 0},
    {false, 0, 10, 0, 1},
    {false, 0, 10, 0, 2},
    {false, 0, 10, 1, 2},
    {false, 0, 10, 2, 2},
    {false, 0, 10, 3, 2},
}};

}  // namespace

double numpy_sum(std::span<const double> values, NumpySum rule) {
  constexpr std::size_t kBlock = 8192;  // numpy's buffer, which the reduction ran over before 2.3
  if (rule == NumpySum::kFrom2_3) return pairwise_sum(values.data(), values.size());
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); i += kBlock) {
    sum += pairwise_sum(values.data() + i, std::min(kBlock, values.size() - i));
  }
  return sum;
}

namespace {

// The values above -1 of one area range and limit, flattened in C order, and where each threshold's begin.
struct Kept {
  std::vector<double> values;
  std::array<std::size_t, kThresholds + 1> starts{};

  double mean(int first, int last, NumpySum rule) const {
    const auto part = std::span(values).subspan(starts[first], starts[last] - starts[first]);
    return part.empty() ? -1 : numpy_sum(part, rule) / static_cast<double>(part.size());
  }
};
using KeptByCell = std::array<Kept, kAreas * kLimits>;

// One pass over the array, which is larger than the caches.
void keep(const std::vector<double>& array, std::size_t rows, std::span<const Statistic> statistics, KeptByCell& kept) {
  std::vector<int> cells;
  for (const Statistic& s : statistics) cells.push_back(s.area * kLimits + s.limit);
  std::sort(cells.begin(), cells.end());
  cells.erase(std::unique(cells.begin(), cells.end()), cells.end());
  for (const int c : cells) kept[c].values.reserve(kThresholds * rows);
  const double* row = array.data();
  for (int t = 0; t < kThresholds; ++t) {
    for (std::size_t i = 0; i < rows; ++i, row += kAreas * kLimits) {
      for (const int c : cells) {
        if (row[c] > -1) kept[c].values.push_back(row[c]);
      }
    }
    for (const int c : cells) kept[c].starts[t + 1] = kept[c].values.size();
  }
}

}  // namespace

Stats summarise(const Curves& curves, NumpySum rule) {
  const std::span<const Statistic> all(kStatistics);
  const std::size_t k = curves.categories;
  KeptByCell precision, recall;
  keep(curves.precision, kRecalls * k, all.first(6), precision);
  keep(curves.recall, k, all.last(6), recall);
  Stats stats{};
  for (std::size_t i = 0; i < stats.size(); ++i) {
    const Statistic& s = kStatistics[i];
    const Kept& kept = (s.precision ? precision : recall)[s.area * kLimits + s.limit];
    stats[i] = kept.mean(s.first, s.last, rule);
  }
  return stats;
}

std::string summary_text(const Stats& stats) {
  std::string out;
  for (std::size_t s = 0; s < stats.size(); ++s) {
    const Statistic& what = kStatistics[s];
    char iou[16] = "0.50:0.95", line[160];
    if (what.last - what.first == 1) std::snprintf(iou, sizeof iou, "%.2f", kIouThresholds[what.first]);
    std::snprintf(line, sizeof line, " %-18s %s @[ IoU=%-9s | area=%6s | maxDets=%3d ] = %.3f\n",
        what.precision ? "Average Precision" : "Average Recall", what.precision ? "(AP)" : "(AR)", iou,
        kAreaNames[what.area], kMaxDetections[what.limit], stats[s]);
    out += line;
  }
  return out;
}

}  // namespace ttt::eval::coco
