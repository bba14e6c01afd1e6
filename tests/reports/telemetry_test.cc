// Changes of weight norms: found where they were planted, and nowhere else; ratios of gradient norms as they were
// planted.
#include "reports/telemetry.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "core/rng.h"
#include "reports/weight_growth.h"
#include "tests/reports/lines.h"
#include "tests/support/toy_record.h"

namespace ttt::reports {
namespace {

using test::line_with;

class Normal {
 public:
  explicit Normal(std::uint64_t seed) : random_(random_bits(seed, Purpose::kTest, 11)) {}
  double operator()() {
    return std::sqrt(-2 * std::log(1 - random_.uniform())) * std::cos(2 * std::numbers::pi * random_.uniform());
  }

 private:
  Stream random_;
};

// Norms every ten steps of a growth that falls slowly, as weights' does, and from step `decay` on is a tenth. Each pair
// of samples with noise of a tenth of the growth.
struct Series {
  std::vector<std::int64_t> step;
  std::vector<double> norm;
};
Series series(std::int64_t samples, std::int64_t decay, std::uint64_t seed, double jump_at = -1, double jump = 0) {
  Series s;
  Normal noise(seed);
  double log_norm = 3;
  for (std::int64_t i = 0; i < samples; ++i) {
    s.step.push_back(i * 10);
    if (static_cast<double>(i * 10) == jump_at) log_norm += std::log1p(jump);
    s.norm.push_back(std::exp(log_norm));
    const double growth = 2e-4 / (1 + 0.01 * static_cast<double>(i)) * (i * 10 >= decay ? 0.1 : 1);
    log_norm += 10 * growth * (1 + 0.1 * noise());
  }
  return s;
}

TEST(WeightGrowth, PlantedDecay_FoundAtItsStep) {
  int found = 0, exact = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Series s = series(100, 600, seed);
    const auto changes = WeightGrowth(s.step, s.norm).changes();
    found += changes.size() == 1;
    if (changes.size() != 1) continue;
    exact += std::abs(changes[0].step - 600) <= 10;
    EXPECT_NEAR(changes[0].after / changes[0].before, 0.09, 0.03);
  }
  EXPECT_GE(found, 198);
  EXPECT_GE(exact, 198);
}

TEST(WeightGrowth, WithoutADecayNothingIsFound) {
  int found = 0;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const Series s = series(300, 1 << 30, seed);
    const WeightGrowth growth(s.step, s.norm);
    found += !growth.changes().empty() || !growth.jumps().empty();
  }
  EXPECT_LE(found, 5);  // 1 %
}

TEST(WeightGrowth, NoiseWithoutGrowthIsNoChange) {
  int found = 0;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    Series s = series(300, 1 << 30, seed);
    Normal noise(seed + 1000);
    for (double& n : s.norm) n = std::exp(1e-4 * noise());
    found += !WeightGrowth(s.step, s.norm).changes().empty();
  }
  EXPECT_LE(found, 5);
}

// As momentum makes it: what looks like a step is one slow swing.
TEST(WeightGrowth, SimilarGrowth_IsNoChange) {
  int found = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Series s = series(300, 1 << 30, seed);
    Normal noise(seed + 2000);
    double swing = 0, log_norm = 0;
    for (double& n : s.norm)
      swing = 0.8 * swing + noise(), log_norm += 1e-4 * (1 + 0.3 * swing), n = std::exp(log_norm);
    found += !WeightGrowth(s.step, s.norm).changes().empty();
  }
  EXPECT_LE(found, 10);  // half of them without the correction
}

// Norms at every fifth of 5,000 steps that wander and do not grow, as momentum makes them, in proportion to a learning
// rate.
template <class Rate> Series wandering(std::uint64_t seed, const Rate& rate) {
  Series s;
  Normal noise(seed + 3000);
  double velocity = 0, log_norm = 0;
  for (std::int64_t i = 0; i < 5000; ++i) {
    if (i % 5 == 0) s.step.push_back(i), s.norm.push_back(std::exp(log_norm));
    velocity = 0.9 * velocity + noise() * rate(static_cast<double>(i));
    log_norm += 1e-5 * velocity;
  }
  return s;
}

TEST(WeightGrowth, PaceFallsWhereTheNormWanders) {
  int found = 0, at_the_decay = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Series s = wandering(seed, [](double i) { return i < 3000 ? 1 : 0.1; });
    const auto changes = WeightGrowth(s.step, s.norm).changes();
    found += changes.size() == 1 && changes[0].of_pace;
    if (changes.size() != 1) continue;
    at_the_decay += std::abs(changes[0].step - 3000) <= changes[0].within;
    EXPECT_EQ(changes[0].within, 90);                              // two blocks of a hundredth
    EXPECT_NEAR(changes[0].after / changes[0].before, 0.15, 0.1);  // velocity takes a while to forget
  }
  EXPECT_GE(found, 190);  // 95 %, which METRICS.md states
  EXPECT_GE(at_the_decay, 190);
}

TEST(WeightGrowth, CosinesPace_IsNoChange) {
  int found = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Series s = wandering(seed, [](double i) { return 0.5 * (1 + std::cos(std::numbers::pi * i / 5000)); });
    found += !WeightGrowth(s.step, s.norm).changes().empty();
  }
  EXPECT_LE(found, 5);  // 2.5 %, as there
}

TEST(WeightGrowth, NormJump_IsFoundWithSize) {
  for (const double size : {0.05, -0.02}) {
    const Series s = series(100, 1 << 30, 7, 450, size);
    const auto jumps = WeightGrowth(s.step, s.norm).jumps();
    ASSERT_EQ(jumps.size(), 1u) << size;
    EXPECT_EQ(jumps[0].step, 450);
    EXPECT_NEAR(jumps[0].relative, size, 0.002);
  }
}

TEST(WeightGrowth, ExactLinesAndShortSeries) {
  Series s;
  for (std::int64_t i = 0; i < 60; ++i)
    s.step.push_back(i * 7),
        s.norm.push_back(std::exp(1e-4 * static_cast<double>(i < 30 ? i : 30 + 0.1 * static_cast<double>(i - 30))));
  // without any noise: the step's strength must not be a division by zero
  const auto changes = WeightGrowth(s.step, s.norm).changes();
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].step, 210);
  EXPECT_TRUE(std::isfinite(changes[0].strength));
  EXPECT_TRUE(WeightGrowth(s.step, std::vector<double>(60, 2.0)).changes().empty());
  const WeightGrowth few({0, 1, 2}, {1, 2, 3});
  EXPECT_EQ(few.window(), 0u);
  EXPECT_TRUE(few.changes().empty());
  EXPECT_TRUE(few.jumps().empty());
  EXPECT_TRUE(few.sides(1).before.empty());
  EXPECT_TRUE(WeightGrowth({}, {}).sides(1).before.empty());
}

TEST(NormRatio, IsTheOneThatWasPlanted) {
  Normal noise(5);
  std::vector<double> below, above;
  for (int i = 0; i < 240; ++i) {
    below.push_back(std::exp(noise()));
    above.push_back(below.back() * 8 * std::exp(0.3 * noise()) * (i < 80 ? 0.5 : 1));
  }
  const auto r = norm_ratio(above, below);
  EXPECT_NEAR(r->first, 4, 0.4);
  EXPECT_NEAR(r->last, 8, 0.8);
  EXPECT_LT(r->interval->low, r->interval->estimate);
  EXPECT_GT(r->interval->low, 3);
  EXPECT_LT(r->interval->high, 9);
  EXPECT_FALSE(norm_ratio({0, 0}, {1, 1}));
  EXPECT_FALSE(norm_ratio({2, 0}, {1, 1})->interval);
}

NamedRun planted_run() {
  NamedRun run{"run.json", test::toy_record()};
  result::TelemetrySeries t = test::toy_telemetry(0, 10).without_samples();
  const Series decayed = series(100, 600, 1), steady = series(100, 1 << 30, 2, 450, 0.05);
  Normal noise(3);
  for (std::size_t i = 0; i < 100; ++i) {
    const double g = std::exp(0.2 * noise());
    t.add({.step = decayed.step[i],
        .cost_s = 0.002,
        .gradient_norm = {g, 5 * g * std::exp(0.2 * noise())},
        .weight_norm = {decayed.norm[i], steady.norm[i]},
        .update_norm = {0.01 * decayed.norm[i], 0.01}});
  }
  run.record.telemetry = t;
  run.record.steps.truncate(0);
  for (std::int64_t i = 0; i < 1000; ++i) {
    result::StepSample s = test::toy_step(i);
    s.learning_rate = i < 600 ? 0.02 : 0.002;
    run.record.steps.add(s);
  }
  return run;
}

TEST(TelemetryReport, NamesWhatStandsOut) {
  const std::string text = render_text(telemetry({planted_run()}), 250);
  EXPECT_NE(text.find("100 samples, one every 10 steps. A sample cost 2 ms (median); all together 0.04 % of training."),
      std::string::npos)
      << text;
  EXPECT_NE(line_with(text, "mask_head / box_head").find("larger by about an order of magnitude"), std::string::npos)
      << text;
  EXPECT_NE(line_with(text, "0.02 to 0.002").find("600"), std::string::npos) << text;
  EXPECT_NE(line_with(text, "0.02 to 0.002").find("box_head"), std::string::npos) << text;
  EXPECT_EQ(line_with(text, "0.02 to 0.002").find("mask_head"), std::string::npos) << text;
  const std::string all = line_with(text, "");
  EXPECT_TRUE(all.find("450 mask_head - - +5.0") != std::string::npos ||
              all.find("450 mask_head - - +4.9") != std::string::npos)
      << text;
  EXPECT_EQ(text.find("nan"), std::string::npos) << text;
  const std::string csv = test::csv_of(telemetry({planted_run()}));
  EXPECT_NE(csv.find("growth before [% per 1000 steps]"), std::string::npos) << csv;
}

// A run of four groups, of which `slowing` grow slower from step 600 on. The last is a hundred times the others: in the
// norm of all weights it hides them.
result::RunRecord run_of_groups(int slowing, double rate_after) {
  result::RunRecord r = planted_run().record;
  result::TelemetrySeries t{.every_steps = 10};
  for (const char* name : {"a", "b", "c", "large"}) t.groups.push_back({.name = name, .parameters = 1000});
  for (std::size_t i = 0; i < 100; ++i) {
    result::TelemetrySample s{.step = static_cast<std::int64_t>(i) * 10};
    for (int g = 0; g < 4; ++g) {
      const Series own = series(100, g < slowing ? 600 : 1 << 30, static_cast<std::uint64_t>(g) + 20);
      s.weight_norm.push_back((g == 3 ? 100 : 1) * own.norm[i]), s.gradient_norm.push_back(1),
          s.update_norm.push_back(1);
    }
    t.add(s);
  }
  r.telemetry = t;
  for (std::size_t i = 600; i < r.steps.size(); ++i) r.steps.learning_rate[i] = rate_after;
  return r;
}

TEST(BreaksAtDecay, HalfOfTheGroupsDecide) {
  EXPECT_EQ(breaks_at_decay(run_of_groups(0, 0.002)), false);
  EXPECT_EQ(breaks_at_decay(run_of_groups(1, 0.002)), false);
  EXPECT_EQ(breaks_at_decay(run_of_groups(2, 0.002)), true);
  EXPECT_EQ(breaks_at_decay(run_of_groups(2, 0.02)), std::nullopt);  // no decay
  EXPECT_EQ(breaks_at_decay(test::toy_record()), std::nullopt);
}

// The last steps of a curve fall by more than a tenth each.
TEST(BreaksAtDecay, CurveHasNone) {
  result::RunRecord r = run_of_groups(4, 0.02);
  for (std::size_t i = 0; i < r.steps.size(); ++i)
    r.steps.learning_rate[i] = 0.02 * (1 + std::cos(std::numbers::pi * static_cast<double>(i) / 1000));
  EXPECT_EQ(breaks_at_decay(r), std::nullopt);
}

TEST(TelemetryReport, ShortRunsSayWhatTheyLack) {
  NamedRun run{"run.json", test::toy_record()};
  EXPECT_NE(why_no_telemetry(run).find("train.telemetry.folder"), std::string::npos);
  run.record.telemetry = test::toy_telemetry(4);
  EXPECT_EQ(why_no_telemetry(run), "");
  std::string text = render_text(telemetry({run}), 200);
  EXPECT_NE(text.find("Too few samples: a change needs 25, there are 4."), std::string::npos) << text;
  EXPECT_NE(line_with(text, "mask_head / box_head").find("too few samples"), std::string::npos) << text;
  run.record.telemetry = test::toy_telemetry().without_samples();
  text = render_text(telemetry({run}), 200);
  EXPECT_NE(text.find("No step was sampled"), std::string::npos) << text;
}

}  // namespace
}  // namespace ttt::reports
