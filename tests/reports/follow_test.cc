// Following a run: what its journal says so far, from outside and from inside.
#include "reports/follow.h"

#include <gtest/gtest.h>

#include <thread>

#include "core/error.h"
#include "core/temp_folder.h"
#include "result/result_file.h"
#include "result/run_recorder.h"
#include "tests/reports/lines.h"
#include "tests/support/python.h"
#include "tests/support/toy_record.h"

namespace ttt::reports {
namespace {

using result::RunRecord;
using result::RunRecorder;
using test::line_with;

// A run of at most 3 epochs of 4 steps, 64 images in batches of 16.
RunRecord started() {
  RunRecord r = test::toy_record();
  r.steps.truncate(0), r.accuracy.clear(), r.warnings.clear(), r.clocks = {};
  r.verdict = result::Verdict::kNotRun, r.reason.clear();
  r.built["global_batch"] = 16;
  r.recipe.settings["train"] = {{"epochs", 3}, {"max_steps", 0}, {"eval_every_epochs", 1.0}};
  return r;
}

class Follow : public testing::Test {
 protected:
  Follow() : recorder_(started()) { recorder_.start_journal(folder_ / "run.json.journal", 0); }
  std::string once(const std::string& name) {
    const auto r = test::run_command(TTT_REPORT " follow --once --width 120 " + (folder_ / name).string() + " 2>&1");
    status_ = r.status;
    return r.output;
  }
  TempFolder folder_;
  RunRecorder recorder_;
  int status_ = 0;
};

TEST_F(Follow, SaysWhereARunStands) {
  for (int i = 0; i < 4; ++i) recorder_.step(test::toy_step(i));
  recorder_.evaluation(test::toy_evaluation(1, 0.4, 0.51));
  for (int i = 4; i < 6; ++i) recorder_.step(test::toy_step(i));
  for (const char* name : {"run.json", "run.json.journal", "run.json.journal/", "run.json.journal/rank00000.jsonl"}) {
    const std::string text = once(name);
    EXPECT_EQ(status_, 0);
    EXPECT_NE(text.find("under way: recipe toy, 2 ranks, global batch 16"), std::string::npos) << text;
    EXPECT_EQ(line_with(text, "of at most 12"), "step 6 of at most 12 (epoch 1.50)") << text;
    EXPECT_NE(line_with(text, "images/s").find("32"), std::string::npos) << text;
    EXPECT_NE(line_with(text, "0.1667").find("mask"), std::string::npos) << text;  // 1 / 6
    // 3 s to the evaluation's end, two steps of 0.5 s
    EXPECT_EQ(line_with(text, "elapsed"), "elapsed 0:04") << text;
    // 6 x 0.5 s and two evaluations of 1 s
    EXPECT_EQ(line_with(text, "to go"), "to go at most 0:05") << text;
    EXPECT_NE(text.find("0.4000"), std::string::npos) << text;
  }
}

TEST_F(Follow, TornLine_IsLeftOut) {
  EXPECT_NE(once("run.json").find(" 0 of at most 12"), std::string::npos);
  recorder_.step(test::toy_step(0));
  const std::string journal = (folder_ / "run.json.journal/rank00000.jsonl").string();
  test::write_text(journal, test::read_text(journal) + "{\"type\":\"step\",\"st");
  const std::string text = once("run.json");
  EXPECT_EQ(status_, 0) << text;
  EXPECT_NE(text.find(" 1 of at most 12"), std::string::npos) << text;
}

TEST_F(Follow, NamesWhatIsNotThere) {
  const std::string text = once("none.json");
  EXPECT_EQ(status_, 2);
  EXPECT_NE(text.find("There is neither a result"), std::string::npos) << text;
  test::write_text(folder_ / "run.json.journal/rank00000.jsonl", "{\"type\":\"step\"}\n");
  EXPECT_NE(once("run.json").find("line 1 is not the start of a journal"), std::string::npos);
  EXPECT_EQ(status_, 3);
}

TEST_F(Follow, ShowsNormsWhereThereIsTelemetry) {
  recorder_.update([](RunRecord& r) { r.telemetry = test::toy_telemetry(0).without_samples(); });
  recorder_.telemetry(test::toy_sample(1));
  EXPECT_EQ(line_with(once("run.json"), "mask_head"), "mask_head 5 8.16 7.81e-03");
}

// From the first step to the verdict: the run ends when its result is there, and not at an older one.
TEST_F(Follow, EndsWithTheResult) {
  RunRecord old = test::toy_record();
  old.run_id = "of another run";
  result::write_result(folder_ / "run.json", old);
  FollowedRun followed(folder_ / "run.json");
  EXPECT_FALSE(followed.ended());
  recorder_.step(test::toy_step(0));
  followed.poll();
  EXPECT_EQ(followed.record().steps.size(), 1u);
  recorder_.evaluation(test::toy_record().accuracy.back());
  recorder_.finish(result::Verdict::kPassed, "done");
  result::write_result(folder_ / "run.json", recorder_.snapshot(), {.force = true});
  recorder_.discard_journal();
  followed.poll();
  ASSERT_TRUE(followed.ended());
  EXPECT_EQ(followed.record().reason, "done");
  const std::string text = once("run.json");
  EXPECT_NE(text.find("passed: recipe toy"), std::string::npos) << text;
  EXPECT_NE(text.find("done"), std::string::npos);
}

TEST_F(Follow, Pipe_LinePerNewsThenEnd) {
  std::thread run([this] {
    for (int i = 0; i < 4; ++i) {
      recorder_.step(test::toy_step(i));
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
    }
    recorder_.finish(result::Verdict::kSmoke, "stopped");
    result::write_result(folder_ / "run.json", recorder_.snapshot());
    recorder_.discard_journal();
  });
  const auto r = test::run_command(
      "timeout 20 " TTT_REPORT " follow --every 0.1 " + (folder_ / "run.json").string() + " 2>&1 | cat");
  run.join();
  EXPECT_NE(line_with(r.output, "of at most 12 (epoch").find(" loss "), std::string::npos) << r.output;
  EXPECT_NE(r.output.find("smoke: recipe toy"), std::string::npos) << r.output;
  EXPECT_EQ(r.output.find('\x1b'), std::string::npos);
}

TEST(Sparkline, Least_AndGreatestBlock) {
  EXPECT_EQ(sparkline({}, 10), "");
  EXPECT_EQ(sparkline({2, 2, 2}, 10), "▁▁▁");
  EXPECT_EQ(sparkline({0, 1, 2, 3, 4, 5, 6, 7}, 8), "▁▂▃▄▅▆▇█");
  EXPECT_EQ(sparkline({0, 0, 7, 7}, 2), "▁█");
}

TEST(Remaining, UnknownLength_IsUnknown) {
  RunRecord r = started();
  EXPECT_EQ(remaining(r).total_steps, 12);
  EXPECT_LT(remaining(r).seconds, 0);
  r.recipe.settings["train"]["max_steps"] = 5;
  EXPECT_EQ(remaining(r).total_steps, 5);
  r.steps.add(test::toy_step(0));
  EXPECT_DOUBLE_EQ(remaining(r).seconds, 4 * 0.5);
  r.recipe.settings.erase("train");
  EXPECT_EQ(remaining(r).total_steps, 0);
  EXPECT_LT(remaining(r).seconds, 0);
}

}  // namespace
}  // namespace ttt::reports
