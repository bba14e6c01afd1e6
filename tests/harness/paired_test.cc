// Measuring in turns, with sides whose times are known.
#include "harness/paired.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/rng.h"

namespace ttt::harness {
namespace {

// Says what each of its steps takes; counts on a clock that both sides share, as a machine that drifts would.
class Scripted final : public Arm {
 public:
  Scripted(std::int64_t& clock, std::function<double(std::int64_t step, std::int64_t clock)> seconds) : clock_(clock), seconds_(std::move(seconds)) {}
  std::vector<double> block(int steps) override {
    std::vector<double> out;
    for (int i = 0; i < steps; ++i) out.push_back(seconds_(step_++, clock_++));
    blocks.push_back(steps);
    return out;
  }
  std::vector<int> blocks;

 private:
  std::int64_t& clock_;
  std::function<double(std::int64_t, std::int64_t)> seconds_;
  std::int64_t step_ = 0;
};

TEST(Paired, PairsAreTheSameStepsAndBothOrdersAreThere) {
  std::int64_t clock = 0;
  const auto by_step = [](std::int64_t step, std::int64_t) { return 1.0 + static_cast<double>(step); };
  Scripted a(clock, by_step), b(clock, by_step);
  bool measuring = false;
  const auto s = measure_pairs(a, b, {.block_steps = 3, .settle_steps = 2, .limit_s = 1e9, .min_rounds = 6, .max_rounds = 6}, [&] { measuring = true; });
  EXPECT_TRUE(measuring);
  EXPECT_EQ(s.stopped, "precise");  // no difference at all
  ASSERT_EQ(s.size(), 6u * 2 * 3);
  EXPECT_EQ(s.baseline_s, s.variant_s);
  for (std::size_t i = 0; i < s.size(); ++i) {
    EXPECT_EQ(s.baseline_s[i], 1.0 + static_cast<double>(s.step[i]));  // the step's own number
    EXPECT_EQ(s.variant_first[i], static_cast<std::int64_t>((i / 3 + i / 6) % 2));  // A B B A, B A A B, ...
    EXPECT_EQ(s.round[i], static_cast<std::int64_t>(i / 6));
    EXPECT_GE(s.step[i] % 5, 2);  // the first two of a block of five do not count
  }
  for (const int steps : a.blocks) EXPECT_EQ(steps, 5);
}

TEST(Paired, DriftOfTheMachineIsNoEffect) {
  std::int64_t clock = 0;
  const auto drifting = [](double factor) { return [factor](std::int64_t, std::int64_t now) { return factor * (1 + 0.001 * static_cast<double>(now)); }; };
  Scripted a(clock, drifting(1)), b(clock, drifting(1.03));
  const auto s = measure_pairs(a, b, {.limit_s = 1e9, .min_rounds = 20, .max_rounds = 20});
  const auto e = result::effect(s);
  EXPECT_NEAR(e->estimate, 0.03, 1e-4);  // a block drifts by 0.4 %: A B A B would show half of that
  // With the blocks in one order only, the drift would be an effect: the pairs of each half show it.
  double halves[2] = {0, 0};
  for (std::size_t i = 0; i < s.size(); ++i) halves[s.variant_first[i]] += std::log(s.variant_s[i] / s.baseline_s[i]);
  EXPECT_GT((halves[0] - halves[1]) / static_cast<double>(s.size() / 2), 0.002);
}

TEST(Paired, WarmsUpUntilARoundIsNotFaster) {
  std::int64_t clock = 0;
  const auto cooling = [](std::int64_t step, std::int64_t) { return 1 + 4 * std::exp(-static_cast<double>(step) / 8); };
  Scripted a(clock, cooling), b(clock, cooling);
  const auto s = measure_pairs(a, b, {.limit_s = 1e9, .min_rounds = 6, .max_rounds = 6});
  EXPECT_GT(s.warmup_rounds, 4);
  EXPECT_LT(s.baseline_s.front(), 1.1);
}

TEST(Paired, StopsWhenPreciseWhenTimeIsSpentOrWhenAsked) {
  Stream draw(random_bits(1, Purpose::kTest, 9));
  std::int64_t clock = 0;
  const auto noisy = [&](double spread) { return [&draw, spread](std::int64_t, std::int64_t) { return 1 + spread * (draw.uniform() - 0.5); }; };
  const auto stopped = [&](double spread, PairedSettings settings, const std::function<bool()>& interrupted = {}) {
    Scripted a(clock, noisy(spread)), b(clock, noisy(spread));
    return measure_pairs(a, b, settings, {}, interrupted);
  };
  EXPECT_EQ(stopped(0.02, {.half_width = 0.01, .limit_s = 1e9}).stopped, "precise");
  const auto late = stopped(0.5, {.half_width = 1e-6, .limit_s = 200});
  EXPECT_EQ(late.stopped, "time");
  EXPECT_LT(late.size(), 100u);
  const auto all = stopped(0.5, {.half_width = 1e-6, .limit_s = 1e9, .max_rounds = 30});
  EXPECT_EQ(all.stopped, "rounds");
  EXPECT_EQ(all.size(), 30u * 4);
  int asked = 0;
  const auto ended = stopped(0.5, {.half_width = 1e-6, .limit_s = 1e9}, [&] { return ++asked > 12; });
  EXPECT_EQ(ended.size(), 13u * 4);
  EXPECT_EQ(ended.stopped, "interrupted");
  EXPECT_EQ(stopped(0.5, {.half_width = 1e-6, .limit_s = 0.1, .min_rounds = 9}).size(), 9u * 4);  // fewer give no interval
}

// The whole way from times to a finding: how often the interval misses a true effect of 1 %, stopping early included.
TEST(Paired, IntervalsCoverAKnownEffect) {
  Stream draw(random_bits(1, Purpose::kTest, 10));
  int missed = 0;
  for (int repetition = 0; repetition < 400; ++repetition) {
    std::int64_t clock = 0;
    const auto side = [&](double factor) {
      return [&draw, factor](std::int64_t step, std::int64_t) {
        // Steps differ by their content, alike on both sides; one in thirty is held up by something else.
        const double held_up = draw.uniform() < 1.0 / 30 ? 1.0 : 0.0;
        return factor * (1 + 0.3 * unit_double(mix64(static_cast<std::uint64_t>(step)))) * (1 + 0.05 * (draw.uniform() - 0.5)) + held_up;
      };
    };
    Scripted a(clock, side(1)), b(clock, side(1.01));
    const auto e = result::effect(measure_pairs(a, b, {.half_width = 0.005, .limit_s = 1e9, .min_rounds = 8, .max_rounds = 100}));
    missed += e->low > 0.01 || e->high < 0.01;
  }
  // 5 % of 400 is 20, four deviations are 17; stopping early and the held-up steps, which make the rounds skew, may add some.
  EXPECT_LT(missed, 45);
}

}  // namespace
}  // namespace ttt::harness
