// From times to the named cause: sides whose phases are known, measured in turns, and what the report says of them.
#include <gtest/gtest.h>

#include <cmath>

#include "core/statistics.h"
#include "reports/ablations.h"
#include "result/phase_clock.h"
#include "result/result_file.h"
#include "tests/measure/scripted_sides.h"

namespace ttt {
namespace {

using harness::PhaseTimes;
using result::Phase;
using test::Script;

// data_wait, forward, backward, comm_exposed, optimizer, other
constexpr PhaseTimes kStep = {0.01, 0.4, 0.5, 0.02, 0.05, 0.02};

PhaseTimes changed(std::initializer_list<std::pair<Phase, double>> changes) {
  PhaseTimes out = kStep;
  for (const auto& [phase, s] : changes) out[static_cast<std::size_t>(phase)] += s;
  return out;
}

// Twelve builds of four rounds or so.
result::Comparison measured(const std::function<std::pair<Script, Script>(std::int64_t build)>& make) {
  test::Scripts sides(make, 30);
  result::Comparison c{.ablation = "toy", .promise = "bitwise", .gate_steps = 1};
  c.samples = harness::measure_pairs(sides, {.half_width = 1, .limit_s = 1e9, .builds = 8});
  for (const auto& [phase, s] : c.samples.phases) {
    const auto n = static_cast<double>(s.baseline_s.size());
    c.phases[phase] = {sum(s.baseline_s) / n, sum(s.variant_s) / n};
  }
  return c;
}

double difference_of_means(const result::Comparison& c, const char* phase) {
  return c.phases[phase][1].get<double>() - c.phases[phase][0].get<double>();
}

TEST(Cause, LongerPhase_IsNamedWithInterval) {
  Stream draw(random_bits(1, Purpose::kTest, 21));
  const auto c = measured([&](std::int64_t) {
    return std::pair(test::noisy(draw, kStep), test::noisy(draw, changed({{Phase::kForward, 0.04}})));
  });
  const auto cause = reports::cause(c);
  ASSERT_TRUE(cause);
  EXPECT_EQ(cause->phase, "forward");
  EXPECT_EQ(reports::cause_text(c), "forward");
  EXPECT_GT(cause->change_s.low, 0.04 * 1.0);  // by the steps' content, 1 to 1.3 times 0.04 s
  EXPECT_LT(cause->change_s.high, 0.04 * 1.3);
  const auto step = result::step_change(c.samples);
  EXPECT_NEAR(step->estimate, cause->change_s.estimate, 0.01);  // noise of the other phases
}

TEST(Cause, OneStallElsewhere_IsNoCause) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Stream draw(random_bits(seed, Purpose::kTest, 22));
    bool stalled = false;
    const auto c = measured([&](std::int64_t build) {
      const auto variant = test::noisy(draw, changed({{Phase::kForward, 0.04}}));
      return std::pair<Script, Script>(
          test::noisy(draw, kStep), [&stalled, variant, build](std::int64_t step, std::int64_t clock) {
            PhaseTimes s = variant(step, clock);
            if (build == 3 && step > 10 && !std::exchange(stalled, true))
              s[static_cast<std::size_t>(Phase::kCommExposed)] += 60;
            return s;
          });
    });
    ASSERT_GT(difference_of_means(c, "comm_exposed"), 5 * difference_of_means(c, "forward"));  // it was counted
    EXPECT_EQ(reports::cause_text(c), "forward");
    EXPECT_LT(std::abs(result::phase_changes(c.samples).at("comm_exposed").estimate), 0.001);
    EXPECT_NEAR(reports::cause(c)->change_s.estimate, 0.04 * 1.15, 0.01);
  }
}

TEST(Cause, NoDifference_NoneNamed) {
  Stream draw(random_bits(1, Purpose::kTest, 23));
  const auto c = measured([&](std::int64_t) { return std::pair(test::noisy(draw, kStep), test::noisy(draw, kStep)); });
  const auto e = result::effect(c.samples);
  ASSERT_TRUE(e->low < 0 && e->high > 0);
  EXPECT_FALSE(reports::cause(c));
  EXPECT_EQ(reports::cause_text(c), "no difference to explain");
  // Nor a phase that did change where what it gave was taken by another.
  const auto moved = measured([&](std::int64_t) {
    return std::pair(
        test::noisy(draw, kStep), test::noisy(draw, changed({{Phase::kForward, 0.1}, {Phase::kBackward, -0.1}})));
  });
  ASSERT_GT(result::phase_changes(moved.samples).at("forward").low, 0);
  EXPECT_EQ(reports::cause_text(moved), "no difference to explain");
}

TEST(Cause, OppositeChange_ExplainsNothing) {
  Stream draw(random_bits(1, Purpose::kTest, 24));
  const PhaseTimes variant =
      changed({{Phase::kForward, -0.10}, {Phase::kCommExposed, 0.09}, {Phase::kOptimizer, 0.06}});
  const auto c =
      measured([&](std::int64_t) { return std::pair(test::noisy(draw, kStep), test::noisy(draw, variant)); });
  ASSERT_LT(result::phase_changes(c.samples).at("forward").high, -0.09);  // the largest change of all
  ASSERT_GT(result::effect(c.samples)->low, 0);
  EXPECT_EQ(reports::cause_text(c), "comm_exposed");
  const auto back =
      measured([&](std::int64_t) { return std::pair(test::noisy(draw, variant), test::noisy(draw, kStep)); });
  EXPECT_EQ(reports::cause_text(back), "comm_exposed");  // faster, by the same phase
  EXPECT_LT(reports::cause(back)->change_s.high, 0);
}

// Whatever some phase seems to do by chance.
TEST(Cause, AnotherPhaseEachBuild_NoneNamed) {
  int told_apart = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Stream draw(random_bits(seed, Purpose::kTest, 25));
    const auto c = measured([&](std::int64_t build) {
      PhaseTimes variant = kStep;
      variant[static_cast<std::size_t>(build) % variant.size()] += 0.1;
      return std::pair(test::noisy(draw, kStep), test::noisy(draw, variant));
    });
    ASSERT_GT(result::effect(c.samples)->low, 0.05);
    EXPECT_FALSE(reports::cause(c));
    EXPECT_EQ(reports::cause_text(c), "no phase can be told apart");
    for (const auto& [phase, change] : result::phase_changes(c.samples)) told_apart += change.low > 0;
  }
  EXPECT_GT(told_apart, 0);  // else an interval that excludes zero would do
}

TEST(Cause, Operation_IsItsOwnCause) {
  const auto constant = [](double s) { return [s](std::int64_t, std::int64_t) { return s; }; };
  const auto c = measured([&](std::int64_t) { return std::pair(constant(1), constant(2)); });
  EXPECT_FALSE(reports::cause(c));
  EXPECT_EQ(reports::cause_text(c), "the operation itself");
}

// Results of earlier programs hold means of phases: they are read, and no cause is made of them.
TEST(Cause, OfMeansAloneIsNotKnown) {
  const result::RunRecord r =
      result::read_result(TTT_SOURCE_DIR "/results/xeon-avx512-2cores/2026-11-22_ablate_90efab6/all.json");
  std::size_t shown = 0;
  for (const result::Comparison& c : r.comparisons) {
    EXPECT_TRUE(c.samples.phases.empty());
    EXPECT_FALSE(reports::cause(c));
    const auto e = result::measured_effect(c);
    if (!e || (e->low <= 0 && e->high >= 0)) continue;
    ++shown;
    EXPECT_EQ(reports::cause_text(c),
        c.phases.empty() ? "the operation itself" : "not known: an earlier program sampled no phases")
        << c.ablation << " " << c.variant;
  }
  EXPECT_GT(shown, 10u);
}

}  // namespace
}  // namespace ttt
