#include "eval/coco/accumulate.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <memory>

namespace ttt::eval::coco {
namespace {

// One true positive: precision there, and the score.
struct Point {
  double precision, score;
};

// The true positives of one area range and one limit, by threshold, in the order of the scores.
class Points {
 public:
  void collect(std::span<const Ranked> ranked, std::span<const Match> matches, int area, int limit) {
    std::int64_t alone = 0;  // false positives at every threshold
    std::array<std::int64_t, kThresholds> false_positives{};
    for (auto& p : at_) p.clear();
    const int shift = area * kThresholds;
    for (const Ranked& r : ranked) {
      if (r.rank >= static_cast<std::uint32_t>(limit)) continue;
      const Match& m = matches[r.match];
      if (m.alone) {
        alone += !(m.ignored >> shift & 1);
        continue;
      }
      const std::uint64_t counts = ~(m.ignored >> shift) & kThresholdBits, matched = m.matched >> shift;
      for (std::uint64_t wrong = counts & ~matched; wrong != 0; wrong &= wrong - 1)
        ++false_positives[std::countr_zero(wrong)];
      for (std::uint64_t right = counts & matched; right != 0; right &= right - 1) {
        const int t = std::countr_zero(right);
        const double tp = static_cast<double>(at_[t].size() + 1);
        const double fp = static_cast<double>(alone + false_positives[t]);
        // numpy.spacing(1) keeps 0/0 away, and shows where fp + tp is 1: precision 0.9999999999999998.
        at_[t].push_back({tp / ((fp + tp) + std::numeric_limits<double>::epsilon()), r.score});
      }
    }
  }
  std::vector<Point>& operator[](int t) { return at_[t]; }

 private:
  std::array<std::vector<Point>, kThresholds> at_;
};

// For each recall threshold, the number of true positives that reach it.
std::array<std::int64_t, kRecalls> needed(std::int64_t objects) {
  std::array<std::int64_t, kRecalls> out{};
  std::int64_t tp = 0;
  for (int r = 0; r < kRecalls; ++r) {
    while (static_cast<double>(tp) / static_cast<double>(objects) < kRecallThresholds[r]) ++tp;
    out[r] = tp;
  }
  return out;
}

}  // namespace

void Curves::resize(std::int64_t k) {
  categories = k;
  precision.resize(kThresholds * kRecalls * k * kAreas * kLimits);
  recall.resize(kThresholds * k * kAreas * kLimits);
  scores.resize(kThresholds * kRecalls * k * kAreas * kLimits);
}

namespace {

constexpr std::int64_t kCells = kAreas * kLimits;

// One category's part of the arrays, gathered here first: in the arrays, the neighbours in R lie kilobytes apart.
struct Block {
  std::array<std::array<double, kCells>, kThresholds * kRecalls> precision, scores;
  std::array<std::array<double, kCells>, kThresholds> recall;
};

// Column `cell` of threshold t.
void fill(Block& block, int t, std::int64_t cell, std::vector<Point>& p, std::int64_t counted,
    const std::array<std::int64_t, kRecalls>& reach, double top_score) {
  const auto n = static_cast<std::int64_t>(p.size());
  for (std::int64_t i = n - 2; i >= 0; --i) p[i].precision = std::max(p[i].precision, p[i + 1].precision);
  block.recall[t][cell] = static_cast<double>(n) / static_cast<double>(counted);
  for (int r = 0; r < kRecalls; ++r) {
    // Recall 0 is reached at the first detection, whatever it is.
    const std::int64_t first = std::max<std::int64_t>(reach[r] - 1, 0);
    block.precision[t * kRecalls + r][cell] = first < n ? p[first].precision : 0;
    block.scores[t * kRecalls + r][cell] = r == 0 ? top_score : first < n ? p[first].score : 0;
  }
}

// A limit that cuts nothing off gives what the one before gave.
void repeat_column(Block& block, std::int64_t cell) {
  for (auto& row : block.precision) row[cell] = row[cell - 1];
  for (auto& row : block.scores) row[cell] = row[cell - 1];
  for (auto& row : block.recall) row[cell] = row[cell - 1];
}

template <class Rows>
void store(const Rows& rows, std::int64_t k, std::int64_t categories, std::vector<double>& array) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::copy(rows[i].begin(), rows[i].end(), array.begin() + (static_cast<std::int64_t>(i) * categories + k) * kCells);
  }
}

}  // namespace

void accumulate(std::span<const Ranked> ranked, std::span<const Match> matches,
    const std::array<std::int64_t, kAreas>& counted, std::int64_t k, Curves& out) {
  const auto block = std::make_unique<Block>();
  for (auto& row : block->precision) row.fill(-1);
  for (auto& row : block->scores) row.fill(-1);
  for (auto& row : block->recall) row.fill(-1);
  Points points;
  std::uint32_t longest = 0;  // detections of an image
  for (const Ranked& r : ranked) longest = std::max(longest, r.rank + 1);
  const double top_score = ranked.empty() ? 0 : ranked[0].score;
  for (int a = 0; a < kAreas; ++a) {
    if (counted[a] == 0) continue;
    const auto reach = needed(counted[a]);
    for (int m = 0; m < kLimits; ++m) {
      const std::int64_t cell = a * kLimits + m;
      if (m > 0 && longest <= static_cast<std::uint32_t>(kMaxDetections[m - 1])) {
        repeat_column(*block, cell);
        continue;
      }
      points.collect(ranked, matches, a, kMaxDetections[m]);
      for (int t = 0; t < kThresholds; ++t) fill(*block, t, cell, points[t], counted[a], reach, top_score);
    }
  }
  store(block->precision, k, out.categories, out.precision);
  store(block->scores, k, out.categories, out.scores);
  store(block->recall, k, out.categories, out.recall);
}

}  // namespace ttt::eval::coco
