// Quantiles, sums and Olympic means against numpy, math.fsum and scipy, intervals against scipy's test.
#include "core/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "core/rng.h"
#include "core/temp_folder.h"
#include "tests/support/python.h"

namespace ttt {
namespace {

TEST(Statistics, ClosedForms) {
  EXPECT_EQ(median({3}), 3);
  EXPECT_EQ(median({4, 1}), 2.5);
  EXPECT_EQ(median({9, 1, 5}), 5);
  EXPECT_EQ(quantile({10, 20, 30, 40, 50}, 0.05), 12);  // position 0.2 between 10 and 20
  EXPECT_EQ(quantile({50, 40, 30, 20, 10}, 1), 50);
  EXPECT_EQ(quantile({50, 40, 30, 20, 10}, 0), 10);
  EXPECT_THROW(quantile({}, 0.5), std::invalid_argument);
  EXPECT_THROW(quantile({1}, 1.5), std::invalid_argument);
  EXPECT_THROW(quantile({1}, std::nan("")), std::invalid_argument);
  EXPECT_EQ(sum({}), 0);
  EXPECT_EQ(sum({1, 1e100, 1, -1e100}), 2);
}

TEST(Statistics, OlympicMean_DropsBestAndWorst) {
  EXPECT_EQ(olympic_mean({10, 20, 40, 30, 90}), 30);
  EXPECT_EQ(olympic_mean({7, 7, 7, 7, 7}), 7);
  EXPECT_THROW(olympic_mean({1, 2, 3, 4}), std::invalid_argument);
  const double never = std::numeric_limits<double>::infinity();
  EXPECT_EQ(olympic_mean({10, 20, never, 30, 40}), 30);
  EXPECT_EQ(olympic_mean({10, never, never, 30, 40}), never);
}

// Ranks of the interval as tables of the sign test have them (Conover, Practical Nonparametric Statistics).
TEST(Statistics, MedianIntervalHasTheTabulatedRanks) {
  std::vector<double> samples;
  for (int i = 1; i < 6; ++i) samples.push_back(i);
  EXPECT_FALSE(median_interval(samples));
  for (const auto& [n, rank] :
      {std::pair{6, 1}, {8, 1}, {9, 2}, {12, 3}, {15, 4}, {17, 5}, {20, 6}, {25, 8}, {30, 10}, {100, 40}}) {
    while (samples.size() < static_cast<std::size_t>(n)) samples.push_back(static_cast<double>(samples.size() + 1));
    std::reverse(samples.begin(), samples.end());
    const auto bounds = median_interval(samples);
    std::sort(samples.begin(), samples.end());
    ASSERT_TRUE(bounds) << n;
    EXPECT_EQ(bounds->low, rank) << n;
    EXPECT_EQ(bounds->high, n + 1 - rank) << n;
  }
}

TEST(Statistics, RandomSamplesWithTies_EqualNumpy) {
  TTT_NEED_PYTHON("numpy, scipy");
  TempFolder folder;
  std::vector<std::vector<double>> sets;
  std::vector<double> qs;
  std::string input;
  Stream random(random_bits(1, Purpose::kTest, 2));
  for (int n = 1; n <= 300; ++n) {
    std::vector<double> samples;
    for (int i = 0; i < n; ++i)
      samples.push_back(
          n % 3 ? random.uniform(-1, 1) * std::exp2(random.uniform(-30, 30)) : static_cast<double>(random.below(5)));
    const double q = n % 7 == 0 ? 0.5 : n % 7 == 1 ? 0.05 : n % 7 == 2 ? 0.95 : random.uniform();
    char text[64];
    std::snprintf(text, sizeof text, "%a", q);
    input += text;
    for (const double x : samples) std::snprintf(text, sizeof text, " %a", x), input += text;
    input += "\n";
    sets.push_back(std::move(samples)), qs.push_back(q);
  }
  test::write_text(folder / "input", input);
  const auto oracle = test::run_command(
      test::python() + " " TTT_SOURCE_DIR "/tests/core/statistics_oracle.py < " + (folder / "input").string());
  std::istringstream lines(oracle.output);
  for (std::size_t i = 0; i < sets.size(); ++i) {
    std::string quantile_text, sum_text, olympic_text;
    ASSERT_TRUE(lines >> quantile_text >> sum_text >> olympic_text) << oracle.output;
    const double expected = std::strtod(quantile_text.c_str(), nullptr), exact = std::strtod(sum_text.c_str(), nullptr);
    double largest = 0, absolute = 0;
    for (const double x : sets[i]) largest = std::max(largest, std::abs(x)), absolute += std::abs(x);
    const double eps = std::numeric_limits<double>::epsilon();
    // numpy interpolates from the nearer neighbour: one rounding of each of the three operations may differ.
    EXPECT_NEAR(quantile(sets[i], qs[i]), expected, 3 * eps * largest) << i;
    // Neumaier's bound: one rounding of the result and n^2 eps^2 of the sum of magnitudes, which is below it here.
    // scipy adds pairwise, which rounds a few times more than a compensated sum.
    if (sets[i].size() >= 5) {
      EXPECT_NEAR(olympic_mean(sets[i]), std::strtod(olympic_text.c_str(), nullptr), 10 * eps * absolute) << i;
    }
    EXPECT_NEAR(sum(sets[i]), exact, eps * std::abs(exact) + 300.0 * 300.0 * eps * eps * absolute) << i;
  }
}

TEST(Statistics, IntervalsOfKnownSamples) {
  EXPECT_FALSE(signed_rank_interval({}));
  EXPECT_FALSE(signed_rank_interval({1, 2, 3, 4, 5}));
  EXPECT_FALSE(signed_rank_interval({1, 2, 3, 4, 5, 6, 7, 8}, 0.995));  // P(W = 0) = 1/256 at either end
  // n = 6: P(W = 0) = 1/64 < 0.025 <= 2/64, so the interval ends at the smallest and the largest mean.
  const auto six = signed_rank_interval({3, 1, 2, 6, 5, 4});
  EXPECT_EQ(six->low, 1);
  EXPECT_EQ(six->high, 6);
  EXPECT_EQ(six->estimate, 3.5);
  const auto spoiled = signed_rank_interval({1, 1.1, 0.9, 1.05, 0.95, 1, 1.02, 0.98, 1, 1.01, 0.99, 1000});
  EXPECT_LT(spoiled->high, 1.2);  // but for one sample, all lie within 0.9 and 1.1
}

// The interval holds the centres that the test does not reject: p > level just inside its ends and p <= level just
// outside.
TEST(Statistics, IntervalsInvertScipysSignedRankTest) {
  TTT_NEED_PYTHON("scipy");
  TempFolder folder;
  Stream random(random_bits(1, Purpose::kTest, 3));
  std::string input;
  long intervals = 0;
  for (const int n : {6, 7, 8, 9, 10, 12, 15, 20, 30, 40, 49})
    for (const double level : {0.05, 0.03, 0.007, 0.001}) {
      std::vector<double> samples;
      for (int i = 0; i < n; ++i) samples.push_back(random.uniform(-1, 1) + random.uniform(-1, 1));
      const auto interval = signed_rank_interval(samples, 1 - level);
      // all signs alike, the least likely
      EXPECT_EQ(interval.has_value(), std::ldexp(2, -n) <= level) << n << ", " << level;
      if (!interval) continue;
      char text[96];
      std::snprintf(text, sizeof text, "%a %a %a", level, interval->low, interval->high);
      input += text, ++intervals;
      for (const double x : samples) std::snprintf(text, sizeof text, " %a", x), input += text;
      input += "\n";
    }
  test::write_text(folder / "input", input);
  const auto oracle = test::run_command(
      test::python() + " " TTT_SOURCE_DIR "/tests/core/interval_oracle.py < " + (folder / "input").string());
  EXPECT_EQ(oracle.status, 0) << oracle.output;
  EXPECT_EQ(std::count(oracle.output.begin(), oracle.output.end(), '\n'), intervals) << oracle.output;
}

// The same of two samples, sizes equal and not; the first that have an interval are four each.
TEST(Statistics, ShiftsInvertScipysMannWhitneyTest) {
  EXPECT_FALSE(rank_sum_interval({1, 2, 3}, {4, 5, 6}));
  EXPECT_FALSE(rank_sum_interval({}, {4, 5, 6}));
  const auto four = rank_sum_interval({1, 2, 3, 4}, {11, 12, 13, 14});  // P(U = 0) = 1/70: all differences
  EXPECT_EQ(four->low, 7);
  EXPECT_EQ(four->high, 13);
  EXPECT_EQ(four->estimate, 10);
  TTT_NEED_PYTHON("scipy");
  TempFolder folder;
  Stream random(random_bits(1, Purpose::kTest, 5));
  std::string input;
  const std::vector<std::pair<int, int>> sizes = {{4, 4}, {5, 4}, {4, 7}, {5, 5}, {6, 9}, {10, 10}, {12, 20}, {20, 20}};
  char text[64];
  for (const auto& [n, m] : sizes) {
    std::vector<double> a, b;
    for (int i = 0; i < n; ++i) a.push_back(random.uniform(-1, 1));
    for (int i = 0; i < m; ++i) b.push_back(random.uniform(0, 2));
    const auto interval = rank_sum_interval(a, b);
    std::snprintf(text, sizeof text, "%a %a %d", interval->low, interval->high, n);
    input += text;
    for (const double x : a) std::snprintf(text, sizeof text, " %a", x), input += text;
    for (const double x : b) std::snprintf(text, sizeof text, " %a", x), input += text;
    input += "\n";
  }
  test::write_text(folder / "input", input);
  const auto oracle = test::run_command(
      test::python() + " " TTT_SOURCE_DIR "/tests/core/shift_oracle.py < " + (folder / "input").string());
  EXPECT_EQ(oracle.status, 0) << oracle.output;
  EXPECT_EQ(std::count(oracle.output.begin(), oracle.output.end(), '\n'), static_cast<long>(sizes.size()))
      << oracle.output;
}

// Against scipy: all splits of the ranks where samples are few, tied or not, and the corrected normal approximation.
TEST(Statistics, RankSumP_EqualsScipys) {
  EXPECT_EQ(rank_sum_p({1, 2, 3, 4}, {5, 6, 7, 8}), 2.0 / 70);
  EXPECT_EQ(rank_sum_p({1, 1}, {1, 1, 1}), 1);
  EXPECT_THROW(rank_sum_p({}, {1}), std::invalid_argument);
  TTT_NEED_PYTHON("scipy");
  TempFolder folder;
  Stream random(random_bits(1, Purpose::kTest, 6));
  std::string input;
  std::vector<double> ours;
  char text[64];
  for (const auto& [n, m] :
      std::vector<std::pair<int, int>>{{1, 1}, {3, 4}, {6, 6}, {5, 9}, {20, 30}, {40, 40}, {9, 90}})
    for (const std::uint64_t values : {0, 4, 1000}) {  // 0: no ties
      const auto draw = [&] { return values ? static_cast<double>(random.below(values)) : random.uniform(); };
      std::vector<double> a, b;
      for (int i = 0; i < n; ++i) a.push_back(draw());
      for (int i = 0; i < m; ++i) b.push_back(draw() * 1.2);
      ours.push_back(rank_sum_p(a, b));
      input += std::to_string(n);
      a.insert(a.end(), b.begin(), b.end());
      for (const double x : a) std::snprintf(text, sizeof text, " %a", x), input += text;
      input += "\n";
    }
  test::write_text(folder / "input", input);
  const auto oracle = test::run_command(
      test::python() + " " TTT_SOURCE_DIR "/tests/core/rank_sum_oracle.py < " + (folder / "input").string());
  std::istringstream lines(oracle.output);
  for (const double p : ours) {
    double expected = 0, tolerance = 0;
    ASSERT_TRUE(lines >> expected >> tolerance) << oracle.output;
    EXPECT_NEAR(p, expected, tolerance);
  }
}

// Quantiles of Student's t and crossings of lines, against scipy.
TEST(Statistics, TAndLineCrossing_EqualScipys) {
  EXPECT_THROW(student_t_quantile(0.5, 3), std::invalid_argument);
  EXPECT_FALSE(line_crossing({1, 2}, {1, 2}, 1.5));
  EXPECT_FALSE(line_crossing({1, 2, 3, 4}, {4, 3, 2, 1}, 2)) << "a falling line meets no target";
  EXPECT_FALSE(line_crossing({1, 2, 3, 4}, {1, 5, 0, 4}, 2)) << "a slope of noise has no end";
  EXPECT_FALSE(line_crossing({2, 2, 2}, {1, 2, 3}, 2));
  TTT_NEED_PYTHON("scipy");
  TempFolder folder;
  Stream random(random_bits(1, Purpose::kTest, 9));
  std::ostringstream input;
  input << std::hexfloat;
  int lines = 0;
  for (const double q : {0.6, 0.9, 0.975, 0.9995})
    for (const int degrees : {1, 2, 3, 4, 7, 30, 101}) {
      input << "t " << q << " " << static_cast<double>(degrees) << " " << student_t_quantile(q, degrees) << "\n";
      ++lines;
    }
  for (const int n : {3, 5, 12, 40})
    for (const double noise : {0.001, 0.02})
      for (const double confidence : {0.8, 0.95}) {
        std::vector<double> x, y;
        for (int i = 0; i < n; ++i)
          x.push_back(random.uniform(0.5, 1.5)), y.push_back(0.1 + 0.3 * x.back() + noise * random.uniform(-1, 1));
        const double level = 0.45;  // within the points, and behind them
        const auto at = line_crossing(x, y, level, confidence);
        if (!at) continue;
        input << "line " << confidence << " " << level;
        for (const double v : {at->x.estimate, at->x.low, at->x.high, at->noise}) input << " " << v;
        for (const double v : x) input << " " << v;
        for (const double v : y) input << " " << v;
        input << "\n";
        ++lines;
      }
  EXPECT_GE(lines, 28 + 14);
  test::write_text(folder / "input", input.str());
  const auto oracle = test::run_command(
      test::python() + " " TTT_SOURCE_DIR "/tests/core/line_oracle.py < " + (folder / "input").string());
  EXPECT_EQ(oracle.output, std::to_string(lines) + "\n");
}

// How often the interval misses the truth, at the sizes where the normal approximation serves: as many of 2,000 as it
// says, give or take four deviations.
TEST(Statistics, LargeIntervals_CoverAsStated) {
  Stream random(random_bits(1, Purpose::kTest, 4));
  const std::vector<double> levels = {0.2, 0.05, 0.01};
  std::vector<int> missed(levels.size());
  for (int repetition = 0; repetition < 2000; ++repetition) {
    std::vector<double> samples;
    for (int i = 0; i < 55; ++i)
      samples.push_back(random.uniform(-1, 1) + random.uniform(-1, 1) + random.uniform(-1, 1));
    for (std::size_t i = 0; i < levels.size(); ++i) {
      const auto interval = signed_rank_interval(samples, 1 - levels[i]);
      missed[i] += interval->low > 0 || interval->high < 0;
    }
  }
  for (std::size_t i = 0; i < levels.size(); ++i)
    EXPECT_NEAR(missed[i], 2000 * levels[i], 4 * std::sqrt(2000 * levels[i] * (1 - levels[i]))) << levels[i];
}

}  // namespace
}  // namespace ttt
