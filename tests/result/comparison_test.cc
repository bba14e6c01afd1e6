// Rows of ablations: JSON and back, and what their samples say.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "result/run_record.h"
#include "tests/support/message_of.h"
#include "tests/support/toy_record.h"

namespace ttt::result {
namespace {

using test::message_of;
using test::toy_record;

TEST(Comparison, WrongMeasurement_IsRefused) {
  const Json whole = to_json(test::toy_ablation());
  EXPECT_EQ(to_json(run_record_from_json(whole)), whole);
  EXPECT_FALSE(to_json(toy_record()).contains("comparisons"));
  const auto changed = [&](const char* pointer, const Json& value) {
    Json j = whole;
    j["comparisons"][0].at(Json::json_pointer(pointer)) = value;
    return message_of([&] { run_record_from_json(j); });
  };
  // a missing sample is not zero
  EXPECT_NE(changed("/samples/baseline_s/3", 0).find("comparisons[0].samples"), std::string::npos);
  EXPECT_NE(changed("/samples/round", Json::array({1})).find("different lengths"), std::string::npos);
  EXPECT_NE(changed("/phase_s/forward", Json::array({1})).find("phase_s.forward"), std::string::npos);
  EXPECT_NE(changed("/samples/phase_s/values/forward", 1).find("samples.phase_s.values.forward"), std::string::npos);
  EXPECT_NE(changed("/samples/phase_s/values/forward/variant", Json::array({1})).find("different lengths"),
      std::string::npos);
  EXPECT_NE(changed("/gate", 1).find("comparisons[0].gate"), std::string::npos);
  EXPECT_NE(changed("/noise/others/2", Json::array({1})).find("noise.others[2]"), std::string::npos);
}

TEST(Comparison, Effect_NeedsSixBuilds) {
  PairedSamples s = test::toy_ablation().comparisons[0].samples;
  const auto e = effect(s);
  EXPECT_NEAR(e->estimate, 0.25, 1e-12);
  EXPECT_NEAR(e->low, 0.25, 1e-12);
  EXPECT_NEAR(e->high, 0.25, 1e-12);
  ASSERT_EQ(round_effects(s).size(), 7u);
  EXPECT_EQ(s.builds(), 7u);
  for (const auto& rounds : round_effects(s)) EXPECT_EQ(rounds.size(), 1u);
  PairedSamples one = s;
  std::fill(one.build.begin(), one.build.end(), 0);
  ASSERT_EQ(round_effects(one).size(), 1u);
  EXPECT_EQ(one.builds(), 1u);
  EXPECT_EQ(PairedSamples().builds(), 0u);
  EXPECT_EQ(round_effects(one)[0].size(), 7u);
  EXPECT_NEAR(effect(one)->low, 0.25, 1e-12);
  for (PairedSamples* few : {&s, &one}) {
    for (auto* column : {&few->build, &few->round, &few->step, &few->variant_first}) column->resize(20);
    few->baseline_s.resize(20), few->variant_s.resize(20);
    EXPECT_FALSE(effect(*few));
  }
  EXPECT_FALSE(effect({}));
}

TEST(Comparison, Interval_IsOverBuilds) {
  PairedSamples s;
  for (std::int64_t i = 0; i < 6 * 10; ++i) {  // ten equal rounds in each of six builds that differ
    s.build.push_back(i / 10), s.round.push_back(i), s.step.push_back(i), s.variant_first.push_back(i % 2);
    s.baseline_s.push_back(1), s.variant_s.push_back(1 + 0.01 * static_cast<double>(i / 10));
  }
  const auto e = effect(s);
  EXPECT_NEAR(e->low, 0, 1e-12);  // of six, the interval is the whole range
  EXPECT_NEAR(e->high, 0.05, 1e-12);
  ASSERT_EQ(build_effects(s).size(), 6u);
  for (std::size_t b = 0; b < 6; ++b)
    EXPECT_NEAR(build_effects(s)[b], std::log1p(0.01 * static_cast<double>(b)), 1e-12);
  std::fill(s.build.begin(), s.build.end(), 0);
  EXPECT_GT(effect(s)->low, 0.015);
}

TEST(Comparison, PhaseChanges_SecondsOverBuilds) {
  const PairedSamples s = test::toy_ablation().comparisons[0].samples;
  const auto changes = phase_changes(s);
  EXPECT_EQ(changes.at("comm_exposed").estimate, 0.1875);
  EXPECT_EQ(changes.at("forward").high, 0);
  EXPECT_EQ(step_change(s)->estimate, 0.25 * (1 + 1.125 + 1.25 + 1.375) / 4);
  PairedSamples more = s;
  more.phases["forward"].variant_s[2] += 9;  // of one build of seven
  EXPECT_EQ(phase_changes(more).at("forward").estimate, 0);
  EXPECT_EQ(phase_changes(more).at("forward").low, 0);
  EXPECT_GT(phase_changes(more).at("forward").high, 1);
}

TEST(Comparison, NotFinite_NoInterval) {
  PairedSamples s = test::toy_ablation().comparisons[0].samples;
  s.variant_s[5] = std::nan("");
  EXPECT_FALSE(effect(s));
  EXPECT_FALSE(step_change(s));
}

TEST(Comparison, OfEarlierVersionsIsOneBuild) {
  Json j = to_json(test::toy_ablation());
  Json& samples = j["comparisons"][0]["samples"];
  samples.erase("build"), samples.erase("warmup_turns"), samples.erase("phase_s"), samples.erase("confidence");
  samples["warmup_rounds"] = 3;
  const RunRecord r = run_record_from_json(j);
  EXPECT_EQ(round_effects(r.comparisons[0].samples).size(), 1u);
  EXPECT_EQ(r.comparisons[0].samples.warmup_turns, 6);
  EXPECT_EQ(r.comparisons[0].samples.confidence, 0.95);
}

TEST(Comparison, Interval_HasTheFilesConfidence) {
  Json j = to_json(test::toy_ablation());
  Json& confidence = j["comparisons"][0]["samples"]["confidence"];
  const auto samples = [&] { return run_record_from_json(j).comparisons[0].samples; };
  EXPECT_TRUE(effect(samples()));
  confidence = 0.99;  // seven builds have none: P(W = 0) = 1/128
  EXPECT_EQ(samples().confidence, 0.99);
  EXPECT_FALSE(effect(samples()));
  EXPECT_FALSE(step_change(samples()));
  EXPECT_TRUE(phase_changes(samples()).empty());
  for (const double wrong : {0.0, 1.0, -0.5}) {
    confidence = wrong;
    EXPECT_THROW(samples(), DataError) << wrong;
  }
}

}  // namespace
}  // namespace ttt::result
