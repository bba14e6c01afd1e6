// Comparisons drawn from the published trainings of `ablate skipped_updates`. Their truth is known: a side against
// itself, the same curves stretched, and a side that skips every 33rd update.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <random>

#include "result/exchange.h"
#include "result/result_file.h"
#include "tests/support/published.h"

namespace ttt::result {
namespace {

constexpr double kTruth = 1.0 / 32;  // steps that the variant needs more
constexpr std::size_t kFewest = 40;  // trainings of a side

// The trainings of all published results of the self-test at the recipe's rate, pairs_*.json, as one row.
ConvergenceRow published() {
  ConvergenceRow all;
  for (const std::string& folder : test::published_folders(TTT_SOURCE_DIR))
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      if (entry.path().extension() != ".json" || !entry.path().stem().string().starts_with("pairs_")) continue;
      const RunRecord record = read_result(entry.path());
      for (const ConvergenceRow& row : record.convergence) {
        if (row.ablation != "skipped_updates" || !row.averaged) continue;
        std::vector<Training> trainings = std::move(all.trainings);
        trainings.insert(trainings.end(), row.trainings.begin(), row.trainings.end());
        all = row, all.trainings = std::move(trainings);
      }
    }
  return all;
}

std::vector<Training> of_side(const ConvergenceRow& row, bool baseline) {
  std::vector<Training> out;
  std::copy_if(row.trainings.begin(), row.trainings.end(), std::back_inserter(out),
      [&](const Training& t) { return (t.variant == row.baseline) == baseline; });
  std::sort(out.begin(), out.end(), [](const Training& a, const Training& b) { return a.seed < b.seed; });
  return out;
}

void add(ConvergenceRow& row, Training t, const std::string& variant, std::int64_t seed) {
  t.variant = variant, t.seed = seed;
  row.trainings.push_back(std::move(t));
}

ConvergenceRow empty_like(const ConvergenceRow& row) {
  return {.baseline = "a", .target = row.target, .fixed_steps = true};
}

TEST(PublishedTrainings, Null_FewIntervalsExcludeZero) {
  constexpr int kComparisons = 100, kSeeds = 10;
  const ConvergenceRow row = published();
  std::mt19937 draw(1);
  int excluded = 0;
  for (int i = 0; i < kComparisons; ++i) {
    std::vector<Training> side = of_side(row, i % 2 == 0);
    ASSERT_GE(side.size(), kFewest);
    std::shuffle(side.begin(), side.end(), draw);
    ConvergenceRow drawn = empty_like(row);
    for (int seed = 0; seed < kSeeds; ++seed)
      add(drawn, side[static_cast<std::size_t>(seed)], "a", seed),
          add(drawn, side[static_cast<std::size_t>(kSeeds + seed)], "b", seed);
    const auto e = exchange(drawn, "b");
    ASSERT_TRUE(e);
    excluded += e->steps.low > 0 || e->steps.high < 0;
  }
  std::printf("null: %d of %d intervals exclude zero\n", excluded, kComparisons);
  EXPECT_LE(excluded, 5);
}

TEST(PublishedTrainings, Planted_FoundAndCovered) {
  constexpr int kComparisons = 20;
  constexpr std::size_t kSeeds = 16;
  const ConvergenceRow row = published();
  const std::vector<Training> a = of_side(row, true), b = of_side(row, false);
  ASSERT_GE(a.size(), kFewest);
  ASSERT_EQ(a.size(), b.size());
  std::vector<std::size_t> order(a.size());
  std::iota(order.begin(), order.end(), 0);
  std::mt19937 draw(1);
  int found = 0, covered = 0, both = 0;
  for (int i = 0; i < kComparisons; ++i) {
    std::shuffle(order.begin(), order.end(), draw);
    ConvergenceRow drawn = empty_like(row);
    for (std::size_t pair = 0; pair < kSeeds; ++pair) {
      ASSERT_EQ(a[order[pair]].seed, b[order[pair]].seed);
      add(drawn, a[order[pair]], "a", static_cast<std::int64_t>(pair));
      add(drawn, b[order[pair]], "b", static_cast<std::int64_t>(pair));
    }
    const auto e = exchange(drawn, "b");
    ASSERT_TRUE(e);
    const bool is_found = e->steps.low > 0, is_covered = e->steps.low <= kTruth && kTruth <= e->steps.high;
    found += is_found, covered += is_covered, both += is_found && is_covered;
  }
  std::printf("planted 3.1 %%: %d of %d found, %d covered, %d both\n", found, kComparisons, covered, both);
  EXPECT_GE(both, 18);
}

// `t` as if it needed `stretch` times the epochs: at each evaluation, the accuracy that its curve had at the
// evaluation's epochs / stretch. The curve is linear in log(epochs) from evaluation to evaluation.
Training stretched(const Training& t, double stretch) {
  Training out = t;
  for (AccuracyPoint& p : out.accuracy) {
    const double epochs = p.epochs / stretch;
    std::size_t next = 1;
    while (next + 1 < t.accuracy.size() && t.accuracy[next].epochs < epochs) ++next;
    const AccuracyPoint &a = t.accuracy[next - 1], &b = t.accuracy[next];
    const double share = std::log(epochs / a.epochs) / std::log(b.epochs / a.epochs);
    for (std::size_t m = 0; m < p.metrics.size(); ++m)
      p.metrics[m].value = a.metrics[m].value + share * (b.metrics[m].value - a.metrics[m].value);
  }
  return out;
}

TEST(PublishedTrainings, StretchedCurves_WithinTwoPoints) {
  constexpr int kComparisons = 20;
  constexpr std::size_t kSeeds = 10;
  constexpr double kStretch = 1.05, kOverSeeds = 0.02;  // standard deviation of log(stretch)
  const ConvergenceRow row = published();
  std::vector<Training> side = of_side(row, true);
  ASSERT_GE(side.size(), kFewest);
  std::mt19937 draw(1);
  std::normal_distribution<double> normal;
  int near = 0;
  double farthest = 0;
  for (int i = 0; i < kComparisons; ++i) {
    std::shuffle(side.begin(), side.end(), draw);
    ConvergenceRow drawn = empty_like(row);
    for (std::size_t seed = 0; seed < kSeeds; ++seed) {
      const double stretch = kStretch * std::exp(kOverSeeds * normal(draw));
      add(drawn, side[seed], "a", static_cast<std::int64_t>(seed));
      add(drawn, stretched(side[seed], stretch), "b", static_cast<std::int64_t>(seed));
    }
    const auto e = exchange(drawn, "b");
    ASSERT_TRUE(e);
    const double error = std::abs(e->steps.estimate - (kStretch - 1));
    near += error <= 0.02, farthest = std::max(farthest, error);
  }
  std::printf("stretched by 5 %%: %d of %d estimates within 2 points, the farthest at %.1f\n", near, kComparisons,
      100 * farthest);
  EXPECT_GE(near, 19);
}

}  // namespace
}  // namespace ttt::result
