// Olympic means of groups of runs, and when there is none.
#include "reports/score.h"

#include <gtest/gtest.h>

#include "tests/support/toy_record.h"

namespace ttt::reports {
namespace {

using result::RunRecord;
using result::Verdict;

// Runs that reach the target after these many seconds; 0: not at all.
std::vector<NamedRun> runs(const std::vector<double>& times) {
  std::vector<NamedRun> all;
  for (std::size_t i = 0; i < times.size(); ++i) {
    RunRecord r = test::toy_record();
    r.recipe.settings["seed"] = i;
    r.provenance["dirty"] = false;
    r.accuracy[1].wall_s = times[i];
    if (times[i] == 0) r.verdict = Verdict::kNotConverged, r.accuracy.pop_back();
    all.push_back({"run" + std::to_string(i), r});
  }
  return all;
}

std::string text(const std::vector<NamedRun>& r) { return render_text(score(r), 200); }

TEST(Score, Score_IsMeanWithoutExtremes) {
  const auto five = runs({10, 20, 40, 30, 90});
  EXPECT_TRUE(has_score(five));
  const Document d = score(five);
  const Row& mean = std::get<Table>(d[1]).rows[0];
  EXPECT_EQ(mean[0].text, "Olympic mean");
  EXPECT_EQ(mean[1].values, std::vector<double>{30});   // start to stop
  EXPECT_EQ(mean[2].values, std::vector<double>{32});   // and 2 s of start-up
  EXPECT_EQ(mean[3].values, std::vector<double>{0.5});  // minutes
  EXPECT_NE(text(five).find("no: the slowest"), std::string::npos);
}

TEST(Score, OneMissedTarget_IsTheSlowest) {
  const Document d = score(runs({10, 20, 0, 30, 40}));
  const Table& t = std::get<Table>(d[1]);
  EXPECT_EQ(t.rows[0][1].values, std::vector<double>{30});
  EXPECT_EQ(t.rows[3][0].text, "slowest");
  EXPECT_EQ(t.rows[3][1].text, "not reached");
  EXPECT_EQ(t.rows[4][1].text, "-");  // no spread
}

TEST(Score, TwoMissedOrFour_NoScore) {
  EXPECT_FALSE(has_score(runs({10, 0, 0, 30, 40})));
  EXPECT_NE(text(runs({10, 0, 0, 30, 40})).find("No score: 2 of 5 runs did not reach the target"), std::string::npos);
  EXPECT_NE(text(runs({10, 20, 30, 40}))
                .find("No score: the Olympic mean needs 5 runs of one system and recipe, here are 4."),
      std::string::npos);
}

TEST(Score, OtherSettings_OtherGroup) {
  const char* const keys[] = {"solver.lr: 0.5 against 0.01", "system.world_size: 99 against 2",
      "provenance.commit: other against ", "data.train_sha256: other against -",
      "system.nodes: unknown machine against "};
  for (const int what : {0, 1, 2, 3, 4}) {
    auto five = runs({10, 20, 40, 30, 90});
    RunRecord& r = five[4].record;
    if (what == 0) r.recipe.settings["solver"]["lr"] = 0.5;
    if (what == 1) r.system["world_size"] = 99;
    if (what == 2) r.provenance["commit"] = "other";
    if (what == 3) r.data["train_sha256"] = "other";
    if (what == 4) r.system.erase("nodes");
    EXPECT_FALSE(has_score(five)) << what;
    EXPECT_NE(text(five).find("here are 1."), std::string::npos) << what;
    const std::string all = render_text(score(five), 1000);
    EXPECT_NE(
        all.find(std::string("'run4' and 'run0' are no repetitions of each other: ") + keys[what]), std::string::npos)
        << all;
  }
}

TEST(Score, SavedWeightsAndTraces_SameGroup) {
  auto five = runs({10, 20, 40, 30, 90});
  for (std::size_t i = 0; i < five.size(); ++i)
    five[i].record.recipe.settings["train"] = {{"save_weights", std::to_string(i) + ".h5"}, {"trace_steps", i}};
  EXPECT_TRUE(has_score(five));
}

// A run that started slowly may be the slowest by one clock and not by the other: one set of runs counts.
TEST(Score, SameRuns_InBothMeans) {
  auto five = runs({10, 20, 30, 40, 50});
  five[2].record.clocks.init_s = 100;
  const Document d = score(five);
  const Row& mean = std::get<Table>(d[1]).rows[0];
  EXPECT_EQ(mean[1].values, std::vector<double>{30});
  EXPECT_EQ(mean[2].values, std::vector<double>{(22 + 130 + 42) / 3.0});
  const Table& rows = std::get<Table>(d[2]);
  EXPECT_EQ(rows.rows[2][0].text, "run2");
  EXPECT_EQ(rows.rows[2][7].text, "yes");
}

// Windows of five in time: {1, 2, 3, 4, 5} -> 3, {2, 3, 4, 5, 90} -> 4, {3, 4, 5, 90, 6} -> 5: the middle one counts.
TEST(Score, MoreThanFive_MedianWindow) {
  const Document d = score(runs({1, 2, 3, 4, 5, 90, 6}));
  EXPECT_EQ(std::get<Table>(d[1]).rows[0][1].values, std::vector<double>{4});
  const Table& rows = std::get<Table>(d[2]);
  const std::vector<std::string> counts = {
      "no: not of the five", "no: the fastest", "yes", "yes", "yes", "no: not of the five", "no: the slowest"};
  for (std::size_t i = 0; i < counts.size(); ++i) EXPECT_EQ(rows.rows[i][7].text, counts[i]) << i;
}

// Two windows have the median between them: the slower one counts, not the flattering one.
TEST(Score, TwoMiddleWindows_SlowerCounts) {
  EXPECT_EQ(std::get<Table>(score(runs({1, 2, 3, 4, 5, 6}))[1]).rows[0][1].values, std::vector<double>{4});
}

TEST(Score, MedianWindow_MayHaveNoScore) {
  EXPECT_FALSE(has_score(runs({0, 0, 3, 4, 5, 6})));  // {inf, 5}: the upper of two
  EXPECT_TRUE(has_score(runs({0, 0, 3, 4, 5, 6, 7})));
}

// The order is that of their start, whatever the files are called.
TEST(Score, WindowsFollowTheClock) {
  auto seven = runs({1, 2, 3, 4, 5, 90, 6});
  for (std::size_t i = 0; i < seven.size(); ++i) {
    seven[i].record.provenance["started_at"] = "2026-01-01T00:00:0" + std::to_string(i) + "Z";
    seven[i].name = "run" + std::to_string(9 - i);
  }
  EXPECT_EQ(std::get<Table>(score(seven)[1]).rows[0][1].values, std::vector<double>{4});
}

TEST(Score, ReferencePoints_ClosedDivisionOnly) {
  auto five = runs({10, 20, 40, 30, 90});
  EXPECT_NE(text(five).find("relaxed by name: data_set."), std::string::npos);
  for (NamedRun& r : five) r.record.mlperf->relaxed.clear(), r.record.built["global_batch"] = 8;
  const Document d = score(five);
  const Table& t = std::get<Table>(d[3]);
  EXPECT_EQ(t.rows[0][0].text, "mean epochs");
  EXPECT_EQ(t.rows[0][1].values, std::vector<double>{2});
  EXPECT_EQ(t.rows[3][1].text, "fail");  // two epochs where the reference takes 12.75
  five[0].record.mlperf.reset();
  EXPECT_NE(text(five).find("no run of the closed division"), std::string::npos);
}

TEST(Score, ShortenedRuns_DoNotCount) {
  auto six = runs({10, 20, 40, 30, 90, 1});
  six[5].record.verdict = Verdict::kSmoke;
  six.push_back({"ablation", test::toy_ablation()});
  EXPECT_EQ(std::get<Table>(score(six)[1]).rows[0][1].values, std::vector<double>{30});
  EXPECT_NE(text(six).find("not counted: run5 (time_to_target, smoke), ablation (ablation, passed)"), std::string::npos)
      << text(six);
}

}  // namespace
}  // namespace ttt::reports
