// The critical batch of planted ladders, and what a rung says of its trials.
#include "result/batch_ladder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace ttt::result {
namespace {

BatchLadder planted(double critical, double deviation, std::mt19937& draw) {
  BatchLadder ladder{.variant = "sgd"};
  std::normal_distribution<double> noise(0, deviation);
  for (std::int64_t batch = 8; batch <= 256; batch *= 2)
    for (std::int64_t seed = 0; seed <= 5; ++seed)
      ladder.trainings.push_back({.batch = batch,
          .learning_rate = 0.1,
          .seed = seed,
          .trial = seed == 0,
          .epochs = 0.8 * (1 + static_cast<double>(batch) / critical) * std::exp(noise(draw))});
  return ladder;
}

TEST(CriticalBatch, PlantedCurve_IsFoundAndCovered) {
  std::mt19937 draw(3);
  for (const double critical : {20.0, 50.0, 120.0}) {
    int covered = 0;
    for (int i = 0; i < 200; ++i) {
      const auto found = critical_batch(planted(critical, 0.08, draw));
      ASSERT_TRUE(found.has_value());
      covered += found->images.low <= critical && critical <= found->images.high;
      // five standard deviations of the estimate's logarithm, at most 0.066 in 2,000 draws by numpy
      EXPECT_NEAR(std::log(found->images.estimate / critical), 0, 0.33);
    }
    EXPECT_GE(covered, 182) << critical;  // 95 % of 200 less three standard errors of 3.1
  }
}

TEST(CriticalBatch, ExactCurve_GivesItsParameters) {
  std::mt19937 draw(4);
  const auto found = critical_batch(planted(40, 1e-6, draw));
  ASSERT_TRUE(found.has_value());
  EXPECT_NEAR(found->images.estimate, 40, 0.3);  // candidates are 0.5 % apart
  EXPECT_NEAR(found->least_epochs, 0.8, 0.01);
}

// All batches far below the critical one, or no noise scale at all: only a lower end is known.
TEST(CriticalBatch, FlatLadder_HasNone) {
  std::mt19937 draw(5);
  EXPECT_FALSE(critical_batch(planted(1e6, 0.08, draw)).has_value());
  BatchLadder two = planted(40, 0.08, draw);
  std::erase_if(two.trainings, [](const LadderTraining& t) { return t.batch > 16; });
  EXPECT_FALSE(critical_batch(two).has_value());
}

TEST(BatchLadder, RatioOfEpochs_NeedsAllRepeats) {
  std::mt19937 draw(6);
  BatchLadder ladder = planted(40, 0.02, draw);
  const auto ratio = epochs_ratio(ladder, 128, 8);
  ASSERT_TRUE(ratio.has_value());
  EXPECT_LT(ratio->low, 168.0 / 48);
  EXPECT_GT(ratio->high, 168.0 / 48);
  EXPECT_NEAR(ratio->estimate, 168.0 / 48, 0.2);
  EXPECT_FALSE(epochs_ratio(ladder, 128, 7).has_value());
  // One that fails takes its rate away, and there is no other.
  for (LadderTraining& t : ladder.trainings)
    if (t.batch == 128 && t.seed == 3) t.epochs.reset();
  EXPECT_FALSE(epochs_ratio(ladder, 128, 8).has_value());
}

TEST(BatchLadder, RungHasBestTrialAndNeighbours) {
  BatchLadder ladder;
  const auto trial = [&](double rate, std::optional<double> epochs) {
    ladder.trainings.push_back({.batch = 16, .learning_rate = rate, .seed = 0, .trial = true, .epochs = epochs});
  };
  trial(0.01, {}), trial(0.02, 1.9), trial(0.04, 1.0), trial(0.08, 1.2), trial(0.16, 2.1), trial(0.32, 1.1);
  ladder.trainings.push_back({.batch = 16, .learning_rate = 0.04, .seed = 1, .epochs = 1.1});
  ladder.trainings.push_back({.batch = 16, .learning_rate = 0.04, .seed = 2, .epochs = 1.3});
  ladder.trainings.push_back({.batch = 32, .learning_rate = 0.04, .seed = 0, .trial = true});
  const std::vector<Rung> all = rungs(ladder);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].trials, 6u);
  EXPECT_EQ(all[0].repeats, 2u);
  ASSERT_TRUE(all[0].rates.has_value());
  EXPECT_EQ(all[0].rates->best, 0.04);
  EXPECT_EQ(all[0].rates->low, 0.02);
  EXPECT_EQ(all[0].rates->high, 0.08);  // 0.16 took more than twice the epochs, and 0.32 lies behind it
  EXPECT_EQ(all[0].epochs, (std::vector<double>{1.1, 1.3}));
  EXPECT_FALSE(all[1].rates.has_value());
  // A repeat that fails takes its rate out, and counts as a trial like those of the rate before.
  ladder.trainings[7].epochs.reset();
  EXPECT_EQ(rungs(ladder)[0].rates.value().best, 0.32);
  EXPECT_EQ(rungs(ladder)[0].trials, 8u);
  EXPECT_EQ(rungs(ladder)[0].repeats, 0u);
  const LadderTraining trials[] = {
      {.trial = true, .epochs = 1.2}, {.trial = true, .epochs = 2.7}, {.trial = false, .epochs = 1}};
  EXPECT_NEAR(*rate_epochs(trials), 1.8, 1e-12);
}

}  // namespace
}  // namespace ttt::result
