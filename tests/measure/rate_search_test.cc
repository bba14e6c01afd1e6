// The search for a learning rate, on planted curves of epochs over rates.
#include "measure/rate_search.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

namespace ttt::ablations {
namespace {

using Curve = std::function<std::optional<double>(double rate)>;

// Epochs around the best rate, in powers of two away from it; not reached beyond `furthest`.
Curve valley(double best, double furthest) {
  return [=](double rate) -> std::optional<double> {
    const double away = std::abs(std::log2(rate / best));
    return away > furthest ? std::nullopt : std::optional(1 + 0.2 * away * away);
  };
}

// All trials, so many at a time.
int search(RateSearch& s, const Curve& curve, std::size_t at_a_time) {
  int trials = 0;
  for (;;) {
    std::vector<double> rates = s.wanted();
    if (rates.empty()) return trials;
    rates.resize(std::min(rates.size(), at_a_time));
    for (const double rate : rates) s.add(rate, curve(rate)), ++trials;
  }
}

TEST(RateSearch, FindsTheBestFromAnywhere) {
  for (const double guess : {0.01, 0.02, 0.04, 0.16, 0.64})
    for (const std::size_t at_a_time : {1, 2}) {
      RateSearch s(guess);
      search(s, valley(0.08, 3.5), at_a_time);
      ASSERT_TRUE(s.best().has_value()) << guess;
      EXPECT_DOUBLE_EQ(*s.best(), 0.08) << guess;
      EXPECT_DOUBLE_EQ(*s.best_epochs(), 1);
    }
}

// With 0.2 a square, twice the epochs are 2.24 powers away: two on each side reach, the third does not.
TEST(RateSearch, TriesTheEndsOfWhatReaches) {
  RateSearch s(0.08);
  int tried_low = 0, tried_high = 0;
  const Curve curve = valley(0.08, 10);
  const int trials = search(
      s,
      [&](double rate) {
        tried_low += rate<0.08, tried_high += rate> 0.08;
        return curve(rate);
      },
      2);
  EXPECT_EQ(trials, 7);
  EXPECT_EQ(tried_low, 3);
  EXPECT_EQ(tried_high, 3);
}

TEST(RateSearch, BestIsKnownBeforeTheEnds) {
  RateSearch s(1);
  EXPECT_FALSE(s.best_is_known());
  s.add(1, 2.0), s.add(2, 3.0);
  EXPECT_FALSE(s.best_is_known());
  EXPECT_EQ(s.wanted(), std::vector<double>{0.5});
  s.add(0.5, 2.5);
  EXPECT_TRUE(s.best_is_known());
  EXPECT_EQ(s.wanted(), (std::vector<double>{4, 0.25}));
}

// Two trials passed by luck, and a repeat did not: the next best is searched around.
TEST(RateSearch, BestThatFailsLater_GivesWay) {
  RateSearch s(0.08);
  const Curve curve = valley(0.08, 10);
  search(s, curve, 2);
  s.add(0.08, std::nullopt);
  ASSERT_TRUE(s.best().has_value());
  const double next = *s.best();
  EXPECT_TRUE(next == 0.04 || next == 0.16) << next;
  EXPECT_TRUE(s.best_is_known());
  search(
      s, [&](double rate) { return rate == 0.08 ? std::nullopt : curve(rate); }, 2);
  EXPECT_EQ(*s.best(), next);
}

TEST(RateSearch, NothingReaches_EndsAfterTheRange) {
  RateSearch s(1);
  const int trials = search(
      s, [](double) { return std::nullopt; }, 2);
  EXPECT_EQ(trials, 2 * RateSearch::kFurthest + 1);
  EXPECT_FALSE(s.best().has_value());
  EXPECT_TRUE(s.best_is_known());
}

TEST(RateSearch, OnlyFarRateReaches_IsFound) {
  RateSearch s(1);
  search(
      s, [](double rate) { return rate == 1.0 / 16 ? std::optional(1.0) : std::nullopt; }, 2);
  ASSERT_TRUE(s.best().has_value());
  EXPECT_DOUBLE_EQ(*s.best(), 1.0 / 16);
}

}  // namespace
}  // namespace ttt::ablations
