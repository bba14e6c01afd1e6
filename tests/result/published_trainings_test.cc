// Comparisons drawn from the published trainings of `ablate skipped_updates`, of which the truth is known: a side
// against itself, and a side of which every 33rd update is skipped.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "result/exchange.h"
#include "result/result_file.h"
#include "tests/support/published.h"

namespace ttt::result {
namespace {

constexpr double kTruth = 1.0 / 32;  // steps that the variant needs more
constexpr std::size_t kFewest = 40;  // trainings of a side

// The trainings of all published results of the self-test, as one row.
ConvergenceRow published() {
  ConvergenceRow all;
  for (const std::string& folder : test::published_folders(TTT_SOURCE_DIR))
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      if (entry.path().extension() != ".json") continue;
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

}  // namespace
}  // namespace ttt::result
