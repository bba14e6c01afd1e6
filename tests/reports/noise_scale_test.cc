// The gradient noise scale of gradients that were drawn with a known one.
#include "reports/noise_scale.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace ttt::reports {
namespace {

constexpr std::int64_t kPart = 4, kBatch = 32;

// Gradients of `kNumbers` numbers: a mean of norm 1, and noise of one image with tr(S) = `noise`. The batch's gradient
// is the mean of its parts'. Two groups share the numbers.
result::TelemetrySeries drawn(double noise, int samples, std::uint32_t seed, double later_noise = 0) {
  constexpr int kNumbers = 40, kFirstGroup = 10;
  std::mt19937 draw(seed);
  std::normal_distribution<double> normal;
  result::TelemetrySeries t{.every_steps = 1};
  t.groups = {{.name = "a", .parameters = kFirstGroup}, {.name = "b", .parameters = kNumbers - kFirstGroup}};
  t.noise = {.part_images = kPart, .batch_images = kBatch};
  for (int i = 0; i < samples; ++i) {
    const double trace = later_noise > 0 && 2 * i >= samples ? later_noise : noise;
    double part_square = 0, squares[2] = {};
    for (int x = 0; x < kNumbers; ++x) {
      const double mean = 1 / std::sqrt(kNumbers), deviation = std::sqrt(trace / kNumbers / kPart);
      double first = 0, sum = 0;
      for (std::int64_t part = 0; part < kBatch / kPart; ++part) {
        const double g = mean + deviation * normal(draw);
        if (part == 0) first = g;
        sum += g;
      }
      part_square += first * first;
      const double g = sum / (kBatch / kPart);
      squares[x < kFirstGroup ? 0 : 1] += g * g;
    }
    t.add({.step = i,
        .gradient_norm = {std::sqrt(squares[0]), std::sqrt(squares[1])},
        .weight_norm = {1, 1},
        .update_norm = {0, 0},
        .part_gradient_norm = std::sqrt(part_square)});
  }
  return t;
}

TEST(NoiseScale, DrawnGradients_AreCovered) {
  int covered = 0;
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    const auto scale = noise_scale(drawn(50, 240, seed));
    ASSERT_TRUE(scale && scale->interval) << seed;
    EXPECT_NEAR(scale->images, 50, 15);  // five standard deviations, 2.84 in 2,000 draws by numpy
    covered += scale->interval->low <= 50 && 50 <= scale->interval->high;
  }
  EXPECT_GE(covered, 181);  // 95 % of 200 less three standard errors of 3.1
}

TEST(NoiseScale, ThirdsShowHowItGrows) {
  const auto scale = noise_scale(drawn(10, 600, 1, 100));
  ASSERT_TRUE(scale && scale->first && scale->last);
  // four standard deviations of 200 samples, 0.34 and 10.2 in 2,000 draws by numpy
  EXPECT_NEAR(*scale->first, 10, 1.4);
  EXPECT_NEAR(*scale->last, 100, 40);
}

TEST(NoiseScale, FewSamples_GiveNoInterval) {
  const auto scale = noise_scale(drawn(50, 40, 1));
  ASSERT_TRUE(scale.has_value());
  EXPECT_FALSE(scale->interval.has_value());
  result::TelemetrySeries without = drawn(50, 40, 1);
  without.noise.reset();
  EXPECT_FALSE(noise_scale(without).has_value());
}

// The batch's gradient is no smaller than noise alone makes it.
TEST(NoiseScale, NoSignal_IsNoScale) {
  result::TelemetrySeries t = drawn(50, 48, 1);
  for (std::size_t i = 0; i < t.size(); ++i) {
    t.noise->part_gradient_norm[i] = 1;
    t.groups[0].gradient_norm[i] = 0, t.groups[1].gradient_norm[i] = std::sqrt(1.0 / 8) * 0.99;
  }
  EXPECT_FALSE(noise_scale(t).has_value());
}

}  // namespace
}  // namespace ttt::reports
