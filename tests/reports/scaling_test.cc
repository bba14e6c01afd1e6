// Scaling and accuracy over runs whose numbers are known in closed form.
#include "reports/scaling.h"

#include <gtest/gtest.h>

#include <functional>

#include "core/error.h"
#include "reports/accuracy.h"
#include "reports/groups.h"
#include "tests/reports/lines.h"
#include "tests/support/message_of.h"
#include "tests/support/toy_record.h"

namespace ttt::reports {
namespace {

using test::line_with;

// 8 steps of `batch` images and `step_s` seconds; the target is reached at the second of two evaluations.
NamedRun run_of(std::int64_t ranks, std::int64_t batch, double step_s, std::int64_t seed = 1) {
  NamedRun run{std::to_string(ranks) + "-" + std::to_string(seed) + ".json", test::toy_record()};
  result::RunRecord& r = run.record;
  r.provenance["dirty"] = false;
  r.system["world_size"] = ranks;
  r.built["global_batch"] = batch;
  r.recipe.settings["seed"] = seed;
  r.recipe.settings["train"] = {{"global_batch", batch}, {"schedule", {{"lr", 0.02}}}};
  r.data["train_sha256"] = "one";
  for (auto& s : r.steps.step_s) s = step_s;
  for (auto& n : r.steps.images) n = batch;
  r.accuracy[1].wall_s = 8 * step_s + 2;
  return run;
}

// On four times the ranks a step takes a third of the time: speed-up 3, efficiency 75 %.
TEST(Scaling, StrongInClosedForm) {
  const std::string text = render_text(scaling({run_of(2, 16, 0.75), run_of(8, 16, 0.25)}, {}), 200);
  EXPECT_EQ(text.find("Strong scaling: the global batch stays"), 0u) << text;
  EXPECT_EQ(line_with(text, "100.0 %"), "2 1 1 16 8 21.33 1.000 100.0 %");
  EXPECT_EQ(line_with(text, "75.0 %"), "8 1 1 16 2 64.00 3.000 75.0 %");
  // 2 epochs each; 3 s and 1 s for an epoch; 2 s of start-up and 2 s of evaluation: 10 s and 6 s. 0.6 = 1 x 1/3 x 1.8.
  EXPECT_EQ(line_with(text, "1 of 1"),
      "2 1 of 1 2.00 3.000 10.00 1.000 1.000 1.000 1.000\n8 1 of 1 2.00 1.000 6.00 0.600 1.000 0.333 1.800");
}

TEST(Scaling, WeakInClosedForm) {
  // Each rank keeps 8 images; on twice the ranks a step takes a quarter longer: twice the images in 1.25 times the
  // time.
  const std::string text = render_text(scaling({run_of(2, 16, 0.5), run_of(4, 32, 0.625)}, {}), 200);
  EXPECT_EQ(text.find("Weak scaling: the images of a rank stay"), 0u) << text;
  EXPECT_EQ(line_with(text, "80.0 %"), "4 1 1 32 8 51.20 1.600 80.0 %");
}

TEST(Scaling, SixSeeds_GiveAnInterval) {
  std::vector<NamedRun> runs = {run_of(1, 16, 1)};
  for (std::int64_t seed = 1; seed <= 3; ++seed) runs.push_back(run_of(2, 16, 0.5 * static_cast<double>(seed), seed));
  EXPECT_EQ(line_with(render_text(scaling(runs, {}), 200), "50.0 %"), "2 1 3 16 8 16.00 (10.67 to 32.00) 1.000 50.0 %");
  EXPECT_TRUE(centre({1, 2, 3, 4, 5, 6}).interval);
  EXPECT_FALSE(centre({1, 2, 3, 4, 5}).interval);
}

TEST(Scaling, Incomparable_IsRefusedByName) {
  NamedRun other = run_of(4, 16, 1);
  other.record.recipe.settings["train"]["schedule"]["lr"] = 0.04;
  const std::vector<NamedRun> runs = {run_of(2, 16, 1), other};
  const std::string refusal = test::message_of<UsageError>([&] { scaling(runs, {}); });
  EXPECT_NE(refusal.find("differ in train.schedule.lr: 0.02 against 0.04"), std::string::npos) << refusal;
  EXPECT_NE(refusal.find("--allow train.schedule.lr"), std::string::npos) << refusal;
  const std::string text = render_text(scaling(runs, {"train.schedule.lr"}), 300);
  EXPECT_NE(line_with(text, "as allowed").find("train.schedule.lr: 0.02 against 0.04"), std::string::npos) << text;

  NamedRun data = run_of(4, 16, 1);
  data.record.data["train_sha256"] = "two";
  EXPECT_NE(test::message_of<UsageError>([&] {
    scaling({run_of(2, 16, 1), data}, {});
  }).find("different data"),
      std::string::npos);
  EXPECT_NE(test::message_of<UsageError>([&] {
    scaling({run_of(2, 16, 1), run_of(4, 20, 1)}, {});
  }).find("neither strong"),
      std::string::npos);
  EXPECT_NE(test::message_of<UsageError>([&] {
    scaling({run_of(2, 16, 1), run_of(2, 16, 1, 2)}, {});
  }).find("at least two numbers of ranks"),
      std::string::npos);
  EXPECT_NE(test::message_of<UsageError>([&] {
    scaling({run_of(2, 16, 1), run_of(2, 32, 1), run_of(4, 16, 1)}, {});
  }).find("global batches of 16 and 32"),
      std::string::npos);
  EXPECT_NE(
      test::message_of<UsageError>([&] { scaling({run_of(2, 16, 1)}, {}); }).find("Name two files"), std::string::npos);
  NamedRun empty = run_of(4, 16, 1);
  empty.record.steps.truncate(0);
  EXPECT_NE(test::message_of<UsageError>([&] {
    scaling({run_of(2, 16, 1), empty}, {});
  }).find("has no steps"),
      std::string::npos);
}

// A key that one file does not know had its default, which the other tells; what changes no number is no difference.
TEST(Scaling, AbsentKeys_HaveTheirDefaults) {
  NamedRun newer = run_of(4, 16, 1);
  newer.record.recipe.settings["train"]["new_key"] = 5;
  newer.record.recipe.settings["train"]["trace_steps"] = 20;
  const std::string text = render_text(scaling({run_of(2, 16, 1), newer}, {}), 300);
  EXPECT_EQ(text.find("new_key"), std::string::npos) << text;
  EXPECT_EQ(text.find("trace_steps"), std::string::npos);
  newer.record.recipe.changes.push_back({{"key", "train.new_key"}, {"default", 4}, {"value", 5}});
  EXPECT_NE(test::message_of<UsageError>([&] {
    scaling({run_of(2, 16, 1), newer}, {});
  }).find("differ in train.new_key: 4 against 5"),
      std::string::npos);
}

TEST(Scaling, NoTarget_CountsForThroughput) {
  NamedRun slow = run_of(4, 16, 0.5);
  slow.record.accuracy.resize(1);
  const std::string text = render_text(scaling({run_of(2, 16, 1), slow}, {}), 300);
  EXPECT_EQ(line_with(text, "0 of 1"), "4 0 of 1 - - - - - - -");
  EXPECT_NE(text.find("did not reach its target: it counts for throughput only"), std::string::npos);
}

// What a result does not say is no 1, no 0 and no failure.
TEST(Scaling, Unknown_IsRefusedOrDash) {
  NamedRun unknown = run_of(4, 16, 0.5);
  unknown.record.system.erase("world_size");
  EXPECT_NE(test::message_of<UsageError>([&] {
    scaling({run_of(2, 16, 1), unknown}, {});
  }).find("'4-1.json' does not say its number of ranks (system.world_size)"),
      std::string::npos);

  NamedRun images = run_of(4, 16, 0.5), nodes = run_of(2, 16, 1);
  images.record.data.erase("train_images");
  nodes.record.system.erase("nodes");
  const std::string text = render_text(scaling({nodes, images}, {}), 300);
  EXPECT_EQ(line_with(text, "100.0 %"), "2 - 1 16 8 16.00 1.000 100.0 %\n4 1 1 16 4 32.00 2.000 100.0 %") << text;
  // 8 steps of 0.5 s, 2 s of evaluation, 2 s of start-up: 8 s against 12 s.
  EXPECT_EQ(
      line_with(text, "1 of 1"), "2 1 of 1 2.00 4.000 12.00 1.000 1.000 1.000 1.000\n4 1 of 1 - - 8.00 0.667 - - -")
      << text;
  EXPECT_NE(line_with(text, "data.train_images").find("'4-1.json'"), std::string::npos) << text;

  NamedRun aimless = run_of(4, 16, 0.5);
  aimless.record.target.reset();
  const Document without = scaling({run_of(2, 16, 1), aimless}, {});
  const Row& row = std::get<Table>(without[4]).rows[1];
  EXPECT_EQ(row[0].text, "4");
  for (std::size_t i = 1; i < row.size(); ++i) EXPECT_EQ(row[i].text, "-") << i;
  EXPECT_NE(render_text(without, 300).find("'4-1.json' has no target"), std::string::npos);
}

// Four ranks of two threads are not four times one rank of one.
TEST(Scaling, OtherThreads_IsACaution) {
  NamedRun one = run_of(2, 16, 1), four = run_of(4, 16, 0.5);
  one.record.built["threads_per_rank"] = 1;
  four.record.built["threads_per_rank"] = 2;
  four.record.recipe.settings["train"]["threads"] = 2;
  one.record.recipe.settings["train"]["threads"] = 0;
  const std::string text = render_text(scaling({one, four}, {}), 300);
  EXPECT_NE(line_with(text, "built.threads_per_rank").find("ran 1 and 2 threads in a rank"), std::string::npos) << text;
  one.record.built.erase("threads_per_rank"), four.record.built.erase("threads_per_rank");
  EXPECT_NE(test::message_of<UsageError>([&] {
    scaling({one, four}, {});
  }).find("differ in train.threads: 0 against 2"),
      std::string::npos);
  const std::string accuracies = render_text(accuracy({one, four}, {}), 200);
  EXPECT_EQ(accuracies.find("train.threads"), std::string::npos) << accuracies;
}

TEST(Scaling, CsvHasTheEndsOfIntervals) {
  std::vector<NamedRun> runs = {run_of(1, 16, 1)};
  for (std::int64_t seed = 1; seed <= 3; ++seed)
    runs.push_back(run_of(2, 16, 0.25 * static_cast<double>(1 << seed), seed));
  const std::string csv = test::csv_of(scaling(runs, {}));
  EXPECT_NE(csv.find(",images/s of training,images/s of training low,images/s of training high,"), std::string::npos)
      << csv;
  EXPECT_NE(csv.find(",2,1,3,16,8,16,8,32,1,50\r\n"), std::string::npos) << csv;
  EXPECT_NE(csv.find(",epochs ratio,epoch-time ratio,rest\r\n"), std::string::npos) << csv;
}

// toy_record: evaluations after 1 and 2 epochs at 3 and 6 s, box AP 0.40 and 0.52, mask AP 0.51 and 0.505, targets 0.5.
TEST(Accuracy, TableAndFirstEvaluationThatReached) {
  const NamedRun run{"a.json", test::toy_record()};
  const std::string text = render_text(accuracy({run}, {.thresholds = {0.46, 0.6}}), 200);
  EXPECT_EQ(line_with(text, "0.4000"), "1 1.00 64 3.0 s 0.4000 0.5100 mask AP");
  EXPECT_EQ(line_with(text, "0.5200"), "2 2.00 128 6.0 s 0.5200 0.5050 all");
  EXPECT_EQ(line_with(text, "box AP 0.460"), "box AP 0.460 1 of 1 2.00 2.00 2.00 6.0 s 6.0 s 6.0 s");
  EXPECT_EQ(line_with(text, "mask AP 0.460"), "mask AP 0.460 1 of 1 1.00 1.00 1.00 3.0 s 3.0 s 3.0 s");
  EXPECT_EQ(line_with(text, "box AP 0.600"), "box AP 0.600 0 of 1 - - - - - -");
  EXPECT_EQ(
      line_with(text, "target:"), "target: box AP 0.500 and mask AP 0.500 1 of 1 2.00 2.00 2.00 6.0 s 6.0 s 6.0 s");
}

TEST(Accuracy, InterpolatesOnlyWhereAsked) {
  const NamedRun run{"a.json", test::toy_record()};
  const std::string text = render_text(accuracy({run}, {.thresholds = {0.46}, .interpolate = true}), 200);
  // half-way between 0.40 and 0.52
  EXPECT_EQ(line_with(text, "box AP 0.460"), "box AP 0.460 1 of 1 1.50 1.50 1.50 4.5 s 4.5 s 4.5 s");
  // nothing is known before
  EXPECT_EQ(line_with(text, "mask AP 0.460"), "mask AP 0.460 1 of 1 1.00 1.00 1.00 3.0 s 3.0 s 3.0 s");
  EXPECT_NE(text.find("straight line"), std::string::npos);
}

// Between the evaluations after epochs 1 and 2 box AP crosses 0.5 at 1.4 and mask AP at 1.67: the target is met where
// both are.
TEST(Accuracy, Target_ReachedByLaterAp) {
  NamedRun run{"a.json", test::toy_record()};
  run.record.accuracy = {test::toy_evaluation(1, 0.3, 0.4), test::toy_evaluation(2, 0.8, 0.55)};
  const std::string text = render_text(accuracy({run}, {.thresholds = {0.5}, .interpolate = true}), 200);
  EXPECT_NE(line_with(text, "  box AP 0.500").find("box AP 0.500 1 of 1 1.40 1.40 1.40 4.2 s"), std::string::npos)
      << text;
  EXPECT_NE(line_with(text, "  mask AP 0.500").find("mask AP 0.500 1 of 1 1.67 1.67 1.67 5.0 s"), std::string::npos)
      << text;
  EXPECT_EQ(
      line_with(text, "target: "), "target: box AP 0.500 and mask AP 0.500 1 of 1 1.67 1.67 1.67 5.0 s 5.0 s 5.0 s")
      << text;
  run.record.accuracy[0] = test::toy_evaluation(1, 0.6, 0.4);  // box AP met already: mask AP alone decides
  EXPECT_EQ(line_with(render_text(accuracy({run}, {.interpolate = true}), 200), "target: "),
      "target: box AP 0.500 and mask AP 0.500 1 of 1 1.67 1.67 1.67 5.0 s 5.0 s 5.0 s");
}

TEST(Accuracy, EqualRecipes_AreOneRow) {
  std::vector<NamedRun> runs;
  for (std::int64_t seed = 1; seed <= 3; ++seed) runs.push_back(run_of(2, 16, 0.5, seed));
  runs[1].record.accuracy[0] = test::toy_evaluation(1, 0.6, 0.6);
  runs[2].record.accuracy.resize(1);
  runs.push_back(run_of(4, 16, 0.5, 1));
  const std::string text = render_text(accuracy(runs, {}), 200);
  EXPECT_EQ(
      line_with(text, "2 of 3"), "target: box AP 0.500 and mask AP 0.500 2 of 3 1.00 1.50 2.00 3.0 s 4.5 s 6.0 s");
  EXPECT_NE(text.find("When 3 runs of one recipe got there"), std::string::npos);
  EXPECT_NE(text.find("When 4-1.json got there (2 against 4 ranks)"), std::string::npos) << text;
}

TEST(Accuracy, RunsWithoutEvaluationSaySo) {
  NamedRun run{"a.json", test::toy_record()};
  run.record.accuracy.clear();
  run.record.target.reset();
  EXPECT_NE(render_text(accuracy({run}, {}), 100).find("No evaluation took place."), std::string::npos);
}

}  // namespace
}  // namespace ttt::reports
