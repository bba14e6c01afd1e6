// Verdicts over all rows: how many intervals may miss a known effect, and what is no proof.
#include "measure/judge.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace ttt::ablations {
namespace {

using result::Verdict;

constexpr double kNull = 0, kPlanted = 0.02;

// Eight builds of one round each, whose effects lie evenly within `centre` +- `spread`; their interval of 95 % reaches
// half as far or more.
result::Comparison row(const char* name, double centre, double spread = 0.005, std::int64_t builds = 8) {
  result::Comparison c{.ablation = name, .variant = "again"};
  for (std::int64_t i = 0; i < builds; ++i) {
    const double effect = centre + spread * (2 * static_cast<double>(i) / static_cast<double>(builds - 1) - 1);
    c.samples.build.push_back(i), c.samples.round.push_back(i), c.samples.step.push_back(i),
        c.samples.variant_first.push_back(i % 2);
    c.samples.baseline_s.push_back(1), c.samples.variant_s.push_back(1 + effect);
  }
  return c;
}

struct Judged {
  Verdict verdict;
  std::string reason;
};
// `hits` rows that say what is there, and `misses` that do not.
Judged judged(double truth, result::Comparison hit, std::size_t hits, result::Comparison miss, std::size_t misses) {
  Judgement j;
  hit.known_effect = miss.known_effect = truth;
  for (std::size_t i = 0; i < hits; ++i) j.add(hit);
  for (std::size_t i = 0; i < misses; ++i) j.add(miss);
  const harness::Outcome o = j.outcome();
  return {o.verdict, o.reason};
}

TEST(Judgement, FiveOfFortyMisses_ArePassed) {
  const auto five = judged(kNull, row("null", 0), 35, row("null", 0.02), 5),
             six = judged(kNull, row("null", 0), 34, row("null", -0.02), 6);
  EXPECT_EQ(five.verdict, Verdict::kPassed);
  EXPECT_EQ(
      five.reason, "40 comparisons measured, promises kept; null: 35 of 40 intervals contain 0 (at least 35 wanted)");
  EXPECT_EQ(six.verdict, Verdict::kIncorrect);
  EXPECT_EQ(six.reason, "null: 34 of 40 intervals contain 0 (at least 35 wanted)");
}

TEST(Judgement, EighteenOfTwenty_MustFindPlanted) {
  EXPECT_EQ(judged(kPlanted, row("planted", 0.02), 18, row("planted", 0), 2).verdict, Verdict::kPassed);
  EXPECT_EQ(judged(kPlanted, row("planted", 0.02), 17, row("planted", 0), 3).verdict, Verdict::kIncorrect);
}

TEST(Judgement, PlantedEffect_InIntervalWithoutZero) {
  const auto all = [](const result::Comparison& r) { return judged(kPlanted, r, 20, r, 0).verdict; };
  EXPECT_EQ(all(row("planted", 0.02)), Verdict::kPassed);
  EXPECT_EQ(all(row("planted", 0.018)), Verdict::kPassed);
  EXPECT_EQ(all(row("planted", 0.02, 0.06)), Verdict::kIncorrect);  // so wide that it holds zero as well
  EXPECT_EQ(all(row("planted", 0.04)), Verdict::kIncorrect);        // a cost, but not this one
  EXPECT_EQ(all(row("planted", -0.02)), Verdict::kIncorrect);
}

TEST(Judgement, FewerThanEight_ProveNothing) {
  const auto seven = judged(kNull, row("null", 0), 0, row("null", 0.02), 7);
  EXPECT_EQ(seven.verdict, Verdict::kPassed);
  EXPECT_NE(seven.reason.find("null: 0 of 7 intervals contain 0 (too few for a proof)"), std::string::npos)
      << seven.reason;
  EXPECT_EQ(judged(kNull, row("null", 0), 7, row("null", 0.02), 1).verdict, Verdict::kPassed);
  EXPECT_EQ(judged(kNull, row("null", 0), 6, row("null", 0.02), 2).verdict, Verdict::kIncorrect);
}

TEST(Judgement, NoInterval_IsAMiss) {
  ASSERT_FALSE(result::effect(row("null", 0, 0.005, 5).samples));
  EXPECT_EQ(judged(kNull, row("null", 0), 38, row("null", 0, 0.005, 5), 2).reason,
      "40 comparisons measured, promises kept; null: 38 of 40 intervals contain 0 (at least 35 wanted)");
  for (const double none : {std::nan(""), std::numeric_limits<double>::infinity(), 0.0, -1.0}) {
    result::Comparison broken = row("null", 0);
    broken.samples.variant_s[3] = none;
    EXPECT_EQ(judged(kNull, row("null", 0), 34, broken, 6).verdict, Verdict::kIncorrect) << none;
  }
}

TEST(Judgement, OnlyMeasuredKnownEffects_AreProofs) {
  Judgement ordinary;
  ordinary.add(row("zero_grad", 0.02));
  EXPECT_EQ(ordinary.outcome().reason, "1 comparison measured, promises kept");
  result::Comparison refused = row("nccl", 0);
  refused.status = "not_supported";
  const auto none = judged(kNull, refused, 3, refused, 0);
  EXPECT_EQ(none.verdict, Verdict::kNotSupported);
  EXPECT_EQ(none.reason, "no comparison can run here");
  EXPECT_EQ(judged(kNull, row("null", 0), 1, refused, 2)
                .reason.find("1 comparison measured, promises kept, 2 not supported here"),
      0u);
}

TEST(Judgement, BrokenPromiseOrNan_IsIncorrect) {
  for (const char* status : {"same_build", "promise_broken", "incorrect"}) {
    result::Comparison broken = row("zero_grad", 0);
    broken.status = status, broken.reason = "the bits differ";
    const auto j = judged(kNull, row("null", 0), 40, broken, 1);
    EXPECT_EQ(j.verdict, Verdict::kIncorrect) << status;
    EXPECT_EQ(j.reason, "zero_grad, again: the bits differ");
  }
  Judgement j;
  j.add(result::ConvergenceRow{.ablation = "initialisation", .trainings = {{.variant = "a"}}});
  EXPECT_EQ(j.outcome().verdict, Verdict::kPassed);
  j.add(result::ConvergenceRow{.ablation = "initialisation", .problem = "a loss is not finite"});
  EXPECT_EQ(j.outcome().verdict, Verdict::kIncorrect);
}

}  // namespace
}  // namespace ttt::ablations
