// Results side by side, with numbers that are known in closed form.
#include "reports/compare.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "reports/ablations.h"
#include "reports/groups.h"
#include "tests/reports/lines.h"
#include "tests/support/toy_record.h"

namespace ttt::reports {
namespace {

using result::RunRecord;
using test::line_with;
using test::toy_record;

// 48 steps; B takes 10 % longer in each.
std::vector<NamedRun> two_runs() {
  RunRecord a = toy_record();
  a.provenance["dirty"] = false;
  a.steps = {};
  a.steps.name_losses(test::kToyLosses);
  for (std::int64_t i = 0; i < 48; ++i) a.steps.add(test::toy_step(i));
  RunRecord b = a;
  for (double& s : b.steps.step_s) s *= 1.1;
  return {{"a.json", a}, {"b.json", b}};
}

TEST(Compare, SameWork_RatioAndInterval) {
  const std::string text = render_text(compare(two_runs()), 200);
  EXPECT_EQ(line_with(text, "time of a step, median"), "time of a step, median [ms] 500.00 550.00 1.100");
  EXPECT_EQ(
      line_with(text, "95 % interval of"), "95 % interval of its ratio 1.100 to 1.100, over the 48 steps both have");
  EXPECT_EQ(line_with(text, "finding"), "finding slower");
  EXPECT_EQ(line_with(text, "images/s of a step"), "images/s of a step, median 32.00 29.09 0.909");
  EXPECT_EQ(text.find("Before these numbers"), std::string::npos);
}

// All that two recipes differ in would fill a plot.
TEST(Compare, LabelNamesOtherRecipes) {
  RunRecord a = toy_record();
  a.recipe.name = "toy", a.recipe.settings["train"]["schedule"]["lr"] = 0.02;
  RunRecord b = a;
  b.recipe.settings["train"]["schedule"]["lr"] = 0.01;
  RunRecord mini = b;
  mini.recipe.name = "mini", mini.recipe.settings["train"]["epochs"] = 1;
  EXPECT_EQ(what_differs(a, {&a, &b}), "schedule.lr 0.02");
  EXPECT_EQ(what_differs(a, {&a, &b, &mini}), "recipe toy, schedule.lr 0.02");
  EXPECT_EQ(what_differs(mini, {&a, &b, &mini}), "recipe mini");
}

TEST(Compare, IncomparableRuns_AreNamed) {
  std::vector<NamedRun> runs = two_runs();
  runs[1].record.recipe.settings["solver"]["lr"] = 0.5;
  runs[1].record.verdict = result::Verdict::kSmoke;
  runs[1].record.accuracy.clear();
  runs[1].record.data["train_sha256"] = "other";
  const std::string text = render_text(compare(runs), 200);
  EXPECT_NE(text.find("A and B differ in solver.lr: 0.01 against 0.5"), std::string::npos) << text;
  EXPECT_NE(text.find("B did not reach the target (smoke)"), std::string::npos);
  EXPECT_NE(text.find("A and B differ in data.train_sha256 (other training images)."), std::string::npos) << text;
  EXPECT_NE(render_text(compare(runs, true), 200).find("data.train_sha256: - against other."), std::string::npos);
  EXPECT_THROW(compare({runs[0]}), UsageError);
}

// B is older: it lacks two keys. A's recipe says that one of them has its default, and from which default the other was
// changed.
TEST(Compare, AbsentKeys_HaveTheirDefaults) {
  std::vector<NamedRun> runs = two_runs();
  for (NamedRun& run : runs) run.record.recipe.changes = result::Json::array();
  runs[0].record.provenance["started_at"] = "2026-02-01T00:00:00Z";
  runs[1].record.provenance["started_at"] = "2026-01-01T00:00:00Z";
  runs[0].record.recipe.settings["data"] = {{"transform", "host"}, {"workers", 4}, {"z", 1}};
  runs[0].record.recipe.changes.push_back({{"key", "data.workers"}, {"default", 1}, {"value", 4}});
  const std::string text = render_text(compare(runs), 200);
  EXPECT_EQ(line_with(text, "differ in"), "! A and B differ in data.workers: 4 against 1.") << text;
  EXPECT_EQ(line_with(text, "existed"),
      "! B was made before 3 keys existed (data.transform, data.workers, \u2026): their defaults are assumed.");
}

// A's recipe itself sets a key that B's program did not have: B ran with the program's default of it.
TEST(Compare, AbsentRecipeKey_ProgramsDefault) {
  std::vector<NamedRun> runs = two_runs();
  for (NamedRun& run : runs) run.record.recipe.changes = result::Json::array();
  runs[0].record.recipe.settings["train"]["eval_near"] = 0.25;
  runs[0].record.recipe.against_defaults = {{{"key", "train.eval_near"}, {"default", 0}, {"value", 0.25}}};
  const std::string text = render_text(compare(runs), 200);
  EXPECT_EQ(line_with(text, "differ in"), "! A and B differ in train.eval_near: 0.25 against 0.") << text;
}

// Older programs wrote 0 for what they chose themselves; what they built tells.
TEST(Compare, ChosenSettings_AreWhatWasBuilt) {
  std::vector<NamedRun> runs = two_runs();
  for (NamedRun& run : runs) run.record.built["global_batch"] = 16;
  runs[0].record.recipe.settings["train"]["global_batch"] = 0;
  runs[1].record.recipe.settings["train"]["global_batch"] = 16;
  EXPECT_EQ(render_text(compare(runs), 200).find("global_batch"), std::string::npos);
  runs[0].record.built["global_batch"] = 8;
  EXPECT_EQ(line_with(render_text(compare(runs), 200), "global_batch"),
      "! A and B differ in train.global_batch: 8 against 16.");
}

// Each run that is followed has a folder of its own.
TEST(Compare, FoldersOfTelemetry_AreAlike) {
  std::vector<NamedRun> runs = two_runs();
  for (NamedRun& run : runs) run.record.recipe.settings["train"]["telemetry"]["folder"] = "live/" + run.name;
  EXPECT_EQ(render_text(compare(runs), 200).find("telemetry"), std::string::npos);
  runs[1].record.recipe.settings["train"]["telemetry"]["folder"] = "";
  EXPECT_EQ(line_with(render_text(compare(runs), 200), "telemetry"),
      "! A and B differ in train.telemetry.folder: a folder against \"\".");
}

TEST(Compare, ThreeFiles_EachKeyOnce) {
  std::vector<NamedRun> runs = two_runs();
  runs.push_back({"c.json", runs[0].record});
  runs[1].record.recipe.settings["solver"]["lr"] = 0.5;
  const std::string text = render_text(compare(runs), 200);
  EXPECT_EQ(line_with(text, "solver.lr"), "! A, B and C differ in solver.lr: 0.01, 0.5, 0.01.");
}

TEST(Compare, FirstLine_IsTheAnswer) {
  std::vector<NamedRun> runs = two_runs();
  const auto first = [&] { return render_text(compare(runs), 200).substr(0, 60); };
  EXPECT_TRUE(first().starts_with("A is 1.10 times as fast as B (time of a step, 95 % interval"));
  std::swap(runs[0], runs[1]);
  EXPECT_TRUE(first().starts_with("B is 1.10 times as fast as A (time of a step, 95 % interval"));
  runs[1] = runs[0];
  EXPECT_TRUE(first().starts_with("No difference shown between A and B"));
}

// Who has the faster steps need not arrive first, and who did not pass did not arrive.
TEST(Compare, FirstLine_SaysWhoArrivedFirst) {
  std::vector<NamedRun> runs = two_runs();
  const auto first = [&] {
    const std::string text = render_text(compare(runs), 400);
    return text.substr(0, text.find('\n'));
  };
  runs[1].record.accuracy[1].wall_s += 2;
  EXPECT_NE(first().find("). Time to target: A 8.000 s in 2.00 epochs, B 10.000 s in 2.00 epochs."), std::string::npos)
      << first();
  runs[1].record.accuracy[1].wall_s = 5;
  EXPECT_NE(first().find("). Yet B reached the target first: A 8.000 s in "), std::string::npos) << first();
  runs[1].record.verdict = result::Verdict::kIncorrect;
  EXPECT_NE(first().find("). B ended as incorrect."), std::string::npos) << first();
}

TEST(Compare, NoInterval_KeyIsNamed) {
  const auto reason = [](auto&& change) {
    std::vector<NamedRun> runs = two_runs();
    change(runs[1].record);
    return line_with(render_text(compare(runs), 300), "95 % interval of its ratio");
  };
  const std::string none = "95 % interval of its ratio none: ";
  EXPECT_EQ(reason([](RunRecord& r) { r.data["train_sha256"] = "other"; }), none + "other data.train_sha256");
  EXPECT_EQ(reason([](RunRecord& r) { r.recipe.settings["seed"] = 99; }), none + "other seed");
  EXPECT_EQ(reason([](RunRecord& r) { r.steps.step_ranks = "max"; }), none + "other steps.step_s.ranks");
  EXPECT_EQ(reason([](RunRecord& r) { r.steps.images[7] += 1; }), none + "other steps.images");
  EXPECT_EQ(reason([](RunRecord& r) { r.steps.step[7] += 100; }), none + "other steps.step");
  EXPECT_EQ(reason([](RunRecord& r) { r.steps.step_s[7] = 0; }), none + "a step without time");
  EXPECT_EQ(reason([](RunRecord& r) { r.steps.truncate(0); }), none + "fewer than 24 steps");
}

// A run that a signal ended after its target was reached has a time to target.
TEST(Compare, FailureAfterTarget_IsNotMissed) {
  std::vector<NamedRun> runs = two_runs();
  runs[1].record.verdict = result::Verdict::kFailed;
  const std::string text = render_text(compare(runs), 200);
  EXPECT_EQ(text.find("did not reach"), std::string::npos) << text;
  EXPECT_NE(text.find("B reached the target, but ended as failed."), std::string::npos) << text;
}

// B has 400 steps more, which take ten times as long: they are in B's median and neither in the ratio nor its interval.
TEST(Compare, OtherLengths_ShareSteps) {
  std::vector<NamedRun> runs = two_runs();
  for (std::int64_t i = 48; i < 448; ++i) {
    result::StepSample sample = test::toy_step(i);
    sample.step_s = 5;
    runs[1].record.steps.add(sample);
  }
  const std::string text = render_text(compare(runs), 200);
  EXPECT_EQ(line_with(text, "time of a step, median"), "time of a step, median [ms] 500.00 5000.00 1.100");
  EXPECT_EQ(
      line_with(text, "95 % interval of"), "95 % interval of its ratio 1.100 to 1.100, over the 48 steps both have");
}

TEST(Compare, FailedRun_HasNoRatio) {
  std::vector<NamedRun> runs = two_runs();
  const auto ratio = [&] { return line_with(render_text(compare(runs), 200), "time to target ["); };
  EXPECT_EQ(ratio(), "time to target [s] 8.000 8.000 1.000");
  runs[1].record.verdict = result::Verdict::kSmoke;
  EXPECT_EQ(ratio(), "time to target [s] 8.000 8.000 -");
}

TEST(Compare, ReversedFiles_InvertTheRatio) {
  std::vector<NamedRun> runs = two_runs();
  const auto ab = step_time_change(runs[0].record, runs[1].record).interval,
             ba = step_time_change(runs[1].record, runs[0].record).interval;
  EXPECT_NEAR((1 + ab->estimate) * (1 + ba->estimate), 1, 1e-12);
  EXPECT_NEAR((1 + ab->low) * (1 + ba->high), 1, 1e-12);
}

}  // namespace
}  // namespace ttt::reports
