// Accuracy at equal steps exchanged into steps, against trainings whose answer is known.
#include "result/exchange.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

namespace ttt::result {
namespace {

constexpr double kSlope =
    0.35;  // of box and mask AP over log(epochs), about that of the default recipe near its target
const Metrics kTarget = {{"bbox_ap", 0.5}, {"segm_ap", 0.4}};

// A training that needs `stretch` times the usual epochs; the mask is what holds its progress back.
Training training(const std::string& variant, std::int64_t seed, double stretch, const std::function<double()>& noise) {
  Training t{.variant = variant, .seed = seed};
  for (double epochs = 1.25; epochs <= 2; epochs += 0.125) {
    const double rise = kSlope * std::log(epochs / stretch / 2);
    t.accuracy.push_back({epochs, {{"bbox_ap", 0.6 + rise + noise()}, {"segm_ap", 0.4 + rise + noise()}}});
  }
  return t;
}

ConvergenceRow row_of(int pairs, double stretch, double seed_deviation, double noise_deviation, std::mt19937& draw) {
  std::normal_distribution<double> normal;
  ConvergenceRow row{.baseline = "a", .target = kTarget, .fixed_steps = true};
  const auto noise = [&] { return noise_deviation * normal(draw); };
  for (int seed = 1; seed <= pairs; ++seed) {
    row.trainings.push_back(training("a", seed, std::exp(seed_deviation * normal(draw)), noise));
    row.trainings.push_back(training("b", seed, stretch * std::exp(seed_deviation * normal(draw)), noise));
  }
  return row;
}

TEST(Exchange, StretchedCurves_GiveTheirFactor) {
  std::mt19937 draw(1);
  const auto e = exchange(row_of(5, 1.05, 0, 0, draw), "b");
  ASSERT_TRUE(e);
  EXPECT_EQ(e->pairs, 5u);
  EXPECT_NEAR(e->steps.estimate, 0.05, 1e-12);
  EXPECT_NEAR(e->slope, kSlope / 0.4, 1e-12);  // of the mask, whose share of its target is the least
  EXPECT_NEAR(e->metrics.at("segm_ap").estimate, -kSlope * std::log(1.05), 1e-12);
  double mean = 0;  // of the mask's AP in a training of the baseline
  for (int i = 0; i < 7; ++i) mean += (0.4 + kSlope * std::log((1.25 + 0.125 * i) / 2)) / 7;
  EXPECT_NEAR(e->means.at("segm_ap"), mean, 1e-12);
}

TEST(Exchange, Intervals_HoldTheTruth) {
  std::mt19937 draw(2);
  constexpr int kComparisons = 1000, kPairs = 10;
  int held = 0, found = 0;
  double detectable = 0;
  for (int i = 0; i < kComparisons; ++i) {
    const auto e = exchange(row_of(kPairs, 1.03, 0.02, 0.012, draw), "b");
    ASSERT_TRUE(e);
    held += e->steps.low <= 0.03 && 0.03 <= e->steps.high, found += e->steps.low > 0;
    detectable += e->detectable / kComparisons;
  }
  EXPECT_NEAR(held, 0.95 * kComparisons, 3 * std::sqrt(0.05 * 0.95 * kComparisons));
  // the power that it states: near the change that nine of ten comparisons find, more than half of them find 3 %
  EXPECT_NEAR(detectable, 0.038, 0.004);
  EXPECT_GT(found, kComparisons / 2);
}

TEST(Exchange, Pairs_AreOfOneSeed) {
  std::mt19937 draw(3);
  ConvergenceRow row = row_of(4, 1.1, 0, 0, draw);
  row.trainings.erase(row.trainings.begin() + 3);  // b of seed 2
  EXPECT_EQ(exchange(row, "b")->pairs, 3u);
  row.trainings.erase(row.trainings.begin());  // a of seed 1
  EXPECT_FALSE(exchange(row, "b"));            // two pairs
  EXPECT_FALSE(exchange(row, "c"));
}

// Without the one that diverged the variant would look better than it is.
TEST(Exchange, Divergence_IsTheFinding) {
  std::mt19937 draw(5);
  ConvergenceRow row = row_of(6, 0.9, 0, 0, draw);
  EXPECT_TRUE(exchange(row, "b"));
  row.trainings[3].accuracy.clear(), row.trainings[3].problem = "A loss of step 7 is not finite.";
  EXPECT_FALSE(exchange(row, "b"));
  EXPECT_EQ(no_exchange_text(row, "b"), "diverged in 1 of 6");
  EXPECT_EQ(no_exchange_text(row, "c"), "too few trainings, or accuracy that does not rise");
}

TEST(Exchange, NoRise_IsNoRate) {
  std::mt19937 draw(4);
  ConvergenceRow row = row_of(6, 1, 0, 0.01, draw);
  for (Training& t : row.trainings)
    for (AccuracyPoint& p : t.accuracy) p.metrics = {{"bbox_ap", 0.5}, {"segm_ap", 0.4}};
  EXPECT_FALSE(exchange(row, "b"));
}

// Two factors that stretch the curves by 5 % and by -3 %, and by 2 % more where both are on.
ConvergenceRow factorial(int seeds, double noise_deviation, std::mt19937& draw) {
  std::normal_distribution<double> normal;
  ConvergenceRow row{.baseline = "none", .target = kTarget, .fixed_steps = true};
  row.combinations = {{"none", {}}, {"f", {"f"}}, {"g", {"g"}}, {"both", {"f", "g"}}};
  const auto noise = [&] { return noise_deviation * normal(draw); };
  for (int seed = 1; seed <= seeds; ++seed) {
    const double of_seed = std::exp(0.03 * normal(draw));
    for (const auto& [name, stretch] :
        std::map<std::string, double>{{"none", 1}, {"f", 1.05}, {"g", 0.97}, {"both", 1.05 * 0.97 * 1.02}})
      row.trainings.push_back(training(name, seed, of_seed * stretch, noise));
  }
  return row;
}

TEST(FactorEffects, PlantedFactors_AreFound) {
  std::mt19937 draw(5);
  const auto effects = factor_effects(factorial(4, 0, draw));
  ASSERT_EQ(effects.size(), 3u);
  EXPECT_EQ(effects[0].factors, std::vector<std::string>{"f"});
  EXPECT_NEAR(effects[0].steps.estimate, 1.05 * std::sqrt(1.02) - 1, 1e-12);  // half of its combinations have both
  EXPECT_NEAR(effects[1].steps.estimate, 0.97 * std::sqrt(1.02) - 1, 1e-12);
  EXPECT_EQ(effects[2].factors, (std::vector<std::string>{"f", "g"}));
  EXPECT_NEAR(effects[2].steps.estimate, 0.02, 1e-12);
  EXPECT_EQ(effects[2].seeds, 4u);
}

TEST(FactorEffects, Intervals_HoldTheTruth) {
  std::mt19937 draw(6);
  constexpr int kRows = 300;
  int held = 0;
  for (int i = 0; i < kRows; ++i) {
    const auto effects = factor_effects(factorial(8, 0.01, draw));
    ASSERT_EQ(effects.size(), 3u);
    held += effects[2].steps.low <= 0.02 && 0.02 <= effects[2].steps.high;
  }
  EXPECT_NEAR(held, 0.95 * kRows, 3 * std::sqrt(0.05 * 0.95 * kRows));
}

// A seed that lacks a combination has no contrast.
TEST(FactorEffects, IncompleteSeeds_AreLeftOut) {
  std::mt19937 draw(7);
  ConvergenceRow row = factorial(5, 0.01, draw);
  row.trainings.pop_back();
  EXPECT_EQ(factor_effects(row)[0].seeds, 4u);
  row.combinations.clear();
  EXPECT_TRUE(factor_effects(row).empty());
}

}  // namespace
}  // namespace ttt::result
