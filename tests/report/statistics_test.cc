// Quantiles and sums against numpy and math.fsum.
#include "reports/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <sstream>

#include "core/rng.h"
#include "tests/result/python.h"

namespace ttt::reports {
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

TEST(Statistics, EqualNumpyOnRandomSamplesWithTies) {
  TTT_NEED_PYTHON("numpy");
  test::TempFolder folder;
  std::vector<std::vector<double>> sets;
  std::vector<double> qs;
  std::string input;
  Stream random(random_bits(1, Purpose::kTest, 2));
  for (int n = 1; n <= 300; ++n) {
    std::vector<double> samples;
    for (int i = 0; i < n; ++i)
      samples.push_back(n % 3 ? random.uniform(-1, 1) * std::exp2(random.uniform(-30, 30))
                              : static_cast<double>(random.below(5)));
    const double q = n % 7 == 0 ? 0.5 : n % 7 == 1 ? 0.05 : n % 7 == 2 ? 0.95 : random.uniform();
    char text[64];
    std::snprintf(text, sizeof text, "%a", q);
    input += text;
    for (const double x : samples) std::snprintf(text, sizeof text, " %a", x), input += text;
    input += "\n";
    sets.push_back(std::move(samples)), qs.push_back(q);
  }
  test::write_text(folder / "input", input);
  const auto oracle = test::run_command(test::python() + " " TTT_SOURCE_DIR "/tests/report/statistics_oracle.py < " +
                                        (folder / "input").string());
  std::istringstream lines(oracle.output);
  for (std::size_t i = 0; i < sets.size(); ++i) {
    std::string quantile_text, sum_text;
    ASSERT_TRUE(lines >> quantile_text >> sum_text) << oracle.output;
    const double expected = std::strtod(quantile_text.c_str(), nullptr), exact = std::strtod(sum_text.c_str(), nullptr);
    double largest = 0, absolute = 0;
    for (const double x : sets[i]) largest = std::max(largest, std::abs(x)), absolute += std::abs(x);
    const double eps = std::numeric_limits<double>::epsilon();
    // numpy interpolates from the nearer neighbour: one rounding of each of the three operations may differ.
    EXPECT_NEAR(quantile(sets[i], qs[i]), expected, 3 * eps * largest) << i;
    // Neumaier's bound: one rounding of the result and n^2 eps^2 of the sum of magnitudes, which is below it here.
    EXPECT_NEAR(sum(sets[i]), exact, eps * std::abs(exact) + 300.0 * 300.0 * eps * eps * absolute) << i;
  }
}

}  // namespace
}  // namespace ttt::reports
