// The printed report of a run whose numbers are known in closed form.
#include <gtest/gtest.h>

#include <sstream>

#include "core/error.h"
#include "reports/ablations.h"
#include "reports/compare.h"
#include "reports/run_metrics.h"
#include "reports/show.h"
#include "tests/reports/lines.h"
#include "tests/support/toy_record.h"

namespace ttt::reports {
namespace {

using result::RunRecord;
using test::line_with;
using test::toy_record;

const AblationOptions kDetails = {.details = true};

// toy_record: 8 steps of 0.5 s and 16 images, 64 training images, evaluations of 1 s, init 2 s, total 8.5 s.
TEST(Metrics, FactorsOfTheToyRun) {
  const TimeFactors f = time_factors(toy_record());
  EXPECT_TRUE(f.reached);
  EXPECT_EQ(f.epochs, 2);
  EXPECT_EQ(f.epoch_s, 2);
  EXPECT_EQ(f.training_s, 4);
  EXPECT_EQ(f.evaluation_s, 2);
  EXPECT_EQ(f.startup_s, 2);
  EXPECT_EQ(f.time_to_target_s, 8);
  EXPECT_EQ(f.after_s, 0.5);
  EXPECT_EQ(f.unaccounted_s, 0);
  EXPECT_TRUE(f.adds_up());
}

TEST(Show, PeaksInPlaceOfTraining) {
  const std::string text = render_text(show_run(test::toy_roofline()), 160);
  EXPECT_EQ(
      line_with(text, "matrix_multiply"), "matrix_multiply 150 Gflop/s 125 Gflop/s 3 fp32 matrices of 1024 x 1024");
  EXPECT_EQ(line_with(text, "memory_copy"), "memory_copy 30 GB/s 20 GB/s 3 arrays of 512 MiB a rank, plain stores");
  EXPECT_EQ(text.find("Accuracy"), std::string::npos);
}

TEST(Show, ChecksInPlaceOfTraining) {
  const std::string text = render_text(show_run(test::toy_preflight()), 160);
  EXPECT_EQ(line_with(text, "Ranks 0 and 1"), "binding failed Ranks 0 and 1 (node 0) share core 3.");
  EXPECT_EQ(line_with(text, "gpus"), "gpus not supported No GPU here.");
  EXPECT_EQ(line_with(text, "binding.cores_of_rank"), "binding.cores_of_rank 3 (0, 1), 0-1 (2), 2-3 (3)");
  EXPECT_EQ(line_with(text, "binding.threads"), "binding.threads 8");
  EXPECT_EQ(
      line_with(text, "speed.copy_bytes_per_s_of_rank"), "speed.copy_bytes_per_s_of_rank 1.5e+09 (0-2), 1e+09 (3)");
  EXPECT_EQ(text.find("Accuracy"), std::string::npos);
}

TEST(Show, ManyRanks_ThreeNumbers) {
  RunRecord r = test::toy_preflight();
  for (int rank = 0; rank < 9; ++rank) r.checks[2].facts["many_of_rank"].push_back(rank * 2);
  EXPECT_EQ(
      line_with(render_text(show_run(r), 160), "many_of_rank"), "speed.many_of_rank least 0, median 8, most 16 of 9");
}

TEST(Metrics, AfterTarget_DoesNotCount) {
  RunRecord r = toy_record();
  r.accuracy[0] = test::toy_evaluation(1, 0.6, 0.6);  // reached after 4 steps, 3 s into the run
  const TimeFactors f = time_factors(r);
  EXPECT_EQ(f.epochs, 1);
  EXPECT_EQ(f.training_s, 2);
  EXPECT_EQ(f.evaluation_s, 1);
  EXPECT_EQ(f.time_to_target_s, 5);
  EXPECT_EQ(f.after_s, 3.5);
  EXPECT_EQ(f.unaccounted_s, 0);
}

TEST(Metrics, BothTargets_InOneEvaluation) {
  RunRecord r = toy_record();
  r.accuracy = {test::toy_evaluation(1, 0.6, 0.4), test::toy_evaluation(2, 0.4, 0.6)};
  EXPECT_FALSE(time_factors(r).reached);
  EXPECT_EQ(time_factors(r).epochs, 2);
}

TEST(Metrics, WrongSum_IsReported) {
  RunRecord r = toy_record();
  r.steps.step_s[3] += 3;
  EXPECT_EQ(time_factors(r).unaccounted_s, -3);
  EXPECT_FALSE(time_factors(r).adds_up());
  EXPECT_NE(render_text(show_run(r), 100).find("The factors do not add up to the clock: -3.000 s"), std::string::npos);
}

// toy_resumed: the toy run with 10 s lost, and stalls of 1 s in all.
TEST(Metrics, InterruptionsAndCheckpoints_AreFactors) {
  RunRecord r = test::toy_resumed();
  const TimeFactors f = time_factors(r);
  EXPECT_EQ(f.lost_s, 10);
  EXPECT_EQ(f.checkpoint_s, 1);
  EXPECT_EQ(f.time_to_target_s, 2 + 16.5);
  EXPECT_EQ(f.unaccounted_s, 18.5 - (2 + 4 + 2 + 1 + 10));
  EXPECT_EQ(*stall_share(r), (0.125 + 0.25) / (1 + 3));  // from step 2 to step 4 it was interrupted
  const std::string text = render_text(show_run(r), 160);
  EXPECT_EQ(line_with(text, "+ lost to"), "+ lost to interruptions 10.000 s 52.6 %");
  EXPECT_EQ(line_with(text, "+ checkpoints"), "+ checkpoints (stall) 1.000 s 5.3 %");
  EXPECT_EQ(line_with(text, "stall / time"), "stall / time between 9.38 % of checkpoints / from each to the next");
  EXPECT_EQ(line_with(text, "step-00000004.h5"), "4 10.000 s none 4 -> 2 step-00000004.h5 train.threads 1 -> 2");
  r.checkpoints.resize(1);
  EXPECT_FALSE(stall_share(r));
  EXPECT_EQ(render_text(show_run(toy_record()), 160).find("lost"), std::string::npos);
}

TEST(Metrics, GpusAreShownWithTheirEnergy) {
  RunRecord r = toy_record();
  EXPECT_EQ(render_text(show_run(r), 200).find("Toy GPU"), std::string::npos);
  r.health.gpus = test::toy_gpus();
  std::string text = render_text(show_run(r), 200);
  EXPECT_EQ(line_with(text, "  Toy GPU"),
      "0 Toy GPU 512 (300 to 700) W 1950 (1845 to 1980) MHz 97 (90 to 100) % 61 (40 to 67) C 40 (1 to 50) GB "
      "heat (hardware) in 25 % of the looks");
  EXPECT_EQ(line_with(text, "energy per image"), "energy per image 400 J");
  EXPECT_EQ(line_with(text, "kJ"), "energy 51.2 kJ");
  // What the driver did not tell is not zero.
  r.health.gpus->energy_j.reset(), r.health.gpus->ranks[0].power_w.reset(), r.health.gpus->ranks[0].slowed_by.clear();
  text = render_text(show_run(r), 200);
  EXPECT_EQ(line_with(text, "  Toy GPU"),
      "0 Toy GPU - 1950 (1845 to 1980) MHz 97 (90 to 100) % 61 (40 to 67) C 40 (1 to 50) GB nothing");
  EXPECT_EQ(text.find("energy"), std::string::npos);
}

TEST(Metrics, DeviceProfile_IsShown) {
  RunRecord r = toy_record();
  EXPECT_EQ(render_text(show_run(r), 200).find("toy_kernel"), std::string::npos);
  r.health.profile = test::toy_profile();
  const std::string text = render_text(show_run(r), 200);
  EXPECT_EQ(line_with(text, "75.0 %"), "0 4 10.00 ms 75.0 % 250 3 0");
  EXPECT_EQ(line_with(text, "toy_kernel"), "toy_kernel 2.5 6.000 ms 60.0 %");
  EXPECT_EQ(line_with(text, "copy"), "copy 3.0 4.000 ms 40.0 %");
}

TEST(Metrics, Shares_AddUpWithSlowestRank) {
  RunRecord r = toy_record();
  for (double& s : r.steps.step_s) s = 0.625;  // phases are means that add up to 0.5
  const auto shares = phase_shares(r);
  ASSERT_EQ(shares.size(), 7u);
  EXPECT_EQ(shares.back().name, "slowest rank");
  EXPECT_EQ(shares.back().median_s, 0.125);
  EXPECT_EQ(shares.back().share, 0.2);
  double sum = 0;
  for (const auto& s : shares) sum += s.share;
  EXPECT_NEAR(sum, 1, 1e-15);
  r.steps.phase_ranks = "local";
  EXPECT_EQ(phase_shares(r).size(), 6u);
}

TEST(Ablations, Comparison_EffectIntervalCause) {
  const std::string text = render_text(ablations({{"a.json", test::toy_ablation()}}, kDetails), 200);
  EXPECT_EQ(line_with(text, "+25.00"),
      "bucketed +25.00 % +25.00 % to +25.00 % slower 7 28 same bits, kept comm_exposed +187.50 ms (+187.50 to "
      "+187.50) of +296.88 ms");
  EXPECT_NE(line_with(text, "full").find("not_supported: CUDA Graphs exists on CUDA devices only"), std::string::npos);
  EXPECT_NE(text.find("reducer: What is overlap worth?"), std::string::npos);
  // The report of the run ranks.
  EXPECT_TRUE(line_with(render_text(show_run(test::toy_ablation()), 200), "+25.0 %").starts_with("reducer: bucketed"));
  EXPECT_NE(render_text(ablations({{"a.json", toy_record()}}), 100).find("no comparisons"), std::string::npos);
}

// Two files with the same ablation, on two machines: whose row is it?
TEST(Ablations, SeveralFiles_HeadingsNameThem) {
  const std::vector<NamedRun> two = {{"this.json", test::toy_ablation()}, {"that.json", test::toy_ablation()}};
  const Document d = ablations(two, kDetails);
  for (const Block& block : d)
    if (const auto* heading = std::get_if<Heading>(&block)) {
      EXPECT_TRUE(heading->text.starts_with("this.json") || heading->text.starts_with("that.json")) << heading->text;
    }
  EXPECT_NE(test::csv_of(d).find("\r\nthat.json: reducer: What is overlap worth?,bucketed,"), std::string::npos)
      << test::csv_of(d);
  EXPECT_EQ(render_text(ablations({two[0]}, kDetails), 200).find("this.json"), std::string::npos);
}

// Epochs to the target: what a training that never got there had trained is none.
TEST(Convergence, Medians_OfTrainingsThatReached) {
  RunRecord r = toy_record();
  r.kind = "ablation";
  result::ConvergenceRow row{.ablation = "norm",
      .question = "Which?",
      .expectation = "None.",
      .baseline = "batch",
      .target = test::kToyTarget,
      .eval_every_epochs = 0.25};
  for (const double epochs : {2.0, 3.0, 4.0, 12.0})
    row.trainings.push_back(
        {.variant = "batch", .seed = 1, .reached = epochs < 12, .epochs = epochs, .seconds = 10 * epochs});
  row.trainings.push_back({.variant = "group", .seed = 1, .reached = false, .epochs = 12, .seconds = 120});
  r.convergence = {row};
  const Document d = ablations({{"a.json", r}}, kDetails);
  const std::string text = render_text(d, 250);
  EXPECT_EQ(line_with(text, "3 of 4"), "batch 3 of 4 3.00 (2.00 to 4.00) 30.0 s the baseline");
  EXPECT_EQ(line_with(text, "0 of 1"), "group 0 of 1 - - - - too few trainings, or not all reached the target");
  EXPECT_NE(test::csv_of(d).find("epochs to target,epochs to target low,epochs to target high,"), std::string::npos)
      << test::csv_of(d);
  EXPECT_NE(test::csv_of(d).find(",3,2,4,30,"), std::string::npos) << test::csv_of(d);
}

// Main effects of each setting by itself: 1.25 and 1.5 times as long under one, half as long under the other.
TEST(Ablations, MainEffectsAreOfOneSetting) {
  result::RunRecord r = test::toy_ablation();
  const result::Comparison toy = r.comparisons[0];
  r.comparisons.clear();
  const auto add = [&](const char* setting, std::vector<std::string> factors, double ratio) {
    result::Comparison c = toy;
    c.ablation = c.design = "factorial", c.setting = setting, c.factors = std::move(factors);
    for (std::size_t i = 0; i < c.samples.size(); ++i) c.samples.variant_s[i] = ratio * c.samples.baseline_s[i];
    r.comparisons.push_back(c);
  };
  add("1 image", {"a"}, 1.25), add("1 image", {"b"}, 1.5), add("1 image", {"a", "b"}, 1.25 * 1.5);
  add("4 images", {"a"}, 0.5), add("4 images", {"b"}, 1), add("4 images", {"a", "b"}, 0.5);
  const std::string text = render_text(ablations({{"a.json", r}}, kDetails), 250);
  const std::size_t first = text.find("With 1 image:"), second = text.find("With 4 images:");
  ASSERT_TRUE(first != std::string::npos && second != std::string::npos && first < second) << text;
  EXPECT_EQ(line_with(text.substr(first, second - first), "  a "), "a +25.00 % +25.00 % +25.00 %");
  EXPECT_EQ(line_with(text.substr(first, second - first), "  b "), "b +50.00 % +50.00 % +50.00 %");
  EXPECT_EQ(line_with(text.substr(second), "  a "), "a -50.00 % -50.00 % -50.00 %");
}

TEST(Ablations, WideInterval_BusyMachineIsNamed) {
  RunRecord r = test::toy_ablation();
  const auto warned = [&] { return render_text(ablations({{"a.json", r}}, kDetails), 300).find("Repeat when quiet."); };
  EXPECT_EQ(warned(), std::string::npos);
  result::PairedSamples& s = r.comparisons[0].samples;
  for (std::size_t i = 0; i < s.variant_s.size(); ++i) s.variant_s[i] *= 1 + 0.1 * static_cast<double>(s.build[i] % 3);
  EXPECT_NE(warned(), std::string::npos);
}

TEST(Ablations, OperationAlone_IsNoStep) {
  RunRecord r = test::toy_ablation();
  r.comparisons.resize(1);
  r.comparisons[0].phases = result::Json::object();
  r.comparisons[0].samples.phases.clear();
  const std::string text = render_text(ablations({{"a.json", r}}, kDetails), 300);
  EXPECT_NE(text.find("Time of one operation alone against 'blocking'"), std::string::npos) << text;
  EXPECT_EQ(text.find("step time"), std::string::npos) << text;
}

// Of steps of 1.1875 s and 1.484375 s (medians), where the machine multiplies 1,000 numbers a second.
TEST(Ablations, ShareOfPeak_WhereChanged) {
  result::RunRecord r = test::toy_ablation();
  r.comparisons.resize(1);
  r.peaks = {{.name = "matrix_multiply", .unit = "flop/s", .samples = {500, 1000}}};
  const auto line = [&] { return line_with(render_text(ablations({{"a.json", r}}, kDetails), 400), "bucketed"); };
  r.comparisons[0].counters = {{"flops", {950, 950}}};
  EXPECT_NE(line().find("80 -> 64 %"), std::string::npos) << line();
  r.comparisons[0].counters = {{"flops", {950, 1187.5}}};
  EXPECT_EQ(line().find("80 -> 80 %"), std::string::npos) << line();
  r.peaks.clear();
  r.comparisons[0].counters = {{"flops", {950, 950}}};
  EXPECT_EQ(line().find("->"), std::string::npos) << line();
}

TEST(Ablations, IntervalWithZero_NoDifference) {
  result::RunRecord r = test::toy_ablation();
  result::PairedSamples& s = r.comparisons[0].samples;
  for (std::size_t i = 0; i < s.size(); ++i) s.variant_s[i] = s.baseline_s[i] * (s.round[i] % 2 == 0 ? 1.25 : 0.8);
  const std::string line = line_with(render_text(ablations({{"a.json", r}}, kDetails), 200), "bucketed");
  EXPECT_NE(line.find("-20.00 % to +25.00 % no difference shown at this precision"), std::string::npos) << line;
  EXPECT_NE(line.find("no difference to explain"), std::string::npos) << line;
  EXPECT_EQ(line.find("comm_exposed"), std::string::npos) << line;
}

TEST(Show, PrintsTheKnownNumbersVerdictFirst) {
  const std::string text = render_text(show_run(toy_record()), 120);
  EXPECT_EQ(
      text.find("PASSED in 8.0 s: box AP 0.520 >= 0.50 and mask AP 0.505 >= 0.50 after 2 epochs; 32.0 images/s\n"), 0u);
  EXPECT_EQ(line_with(text, "epochs to target"), "epochs to target 2.00");
  EXPECT_EQ(line_with(text, "time per epoch"), "x time per epoch 2.000 s");
  EXPECT_EQ(line_with(text, "= training"), "= training 4.000 s 47.1 %");
  EXPECT_EQ(line_with(text, "+ evaluation"), "+ evaluation (exposed) 2.000 s 23.5 %");
  EXPECT_EQ(line_with(text, "+ start-up"), "+ start-up 2.000 s 23.5 %");
  EXPECT_EQ(line_with(text, "= time to target"), "= time to target 8.000 s 94.1 %");
  EXPECT_EQ(line_with(text, "unaccounted"), "+ unaccounted 0.000 s 0.0 %");
  EXPECT_EQ(line_with(text, "6.0 s"), "2 8 6.0 s 0.5200 0.2812 0.3125 0.5050 0.2812 0.3125 1.000 s *");
  EXPECT_EQ(line_with(text, "3.0 s"), "1 4 3.0 s 0.4000 0.2812 0.3125 0.5100 0.2812 0.3125 1.000 s");
  EXPECT_EQ(line_with(text, "box   0."), "box 0.520 0.281 0.312 - 0.375 0.406 0.438 0.469 0.500 0.531 0.562 0.594");
  EXPECT_EQ(line_with(text, "backward"), "backward 188 ms 37.5 %");
  EXPECT_EQ(line_with(text, "images/s of a step"), "images/s of a step 32.00 median; p5 32.00, p95 32.00");
  EXPECT_EQ(line_with(text, "images/s of the run"), "images/s of the run 21.33 all images / run with evaluation");
  EXPECT_EQ(line_with(text, "solver.lr  "), "solver.lr 0.02 0.01");
  EXPECT_EQ(line_with(text, "libfoo"), "libraries libfoo 1.1 (built with 1.0)");
  EXPECT_NE(text.find("no CPU binding"), std::string::npos);
}

TEST(Show, FitsTheWidthAndLosesNothing) {
  RunRecord r = toy_record();
  r.warnings = {
      "a warning that is much longer than a narrow terminal, with umlauts äöü and 漢字 in it, "
      "so that it must wrap"};
  for (const std::size_t width : {60u, 80u, 120u}) {
    std::istringstream lines(render_text(show_run(r), width));
    std::string words;
    for (std::string line; std::getline(lines, line); words += " " + line) {
      // Tables of numbers do not shrink; the widest has 12 columns.
      const bool numbers = line.find("AP") != std::string::npos || line.find("0.3") != std::string::npos;
      EXPECT_TRUE(numbers || text_width(line) <= width) << line;
    }
    std::istringstream all(words);
    std::string joined;
    for (std::string w; all >> w;) joined += w + " ";
    EXPECT_NE(joined.find("umlauts äöü and 漢字 in it"), std::string::npos) << width;
  }
}

TEST(Show, ControlCharacters_AreNotPrinted) {
  RunRecord r = toy_record();
  r.reason = "evil \x1b[2J \xc2\x9b end";
  r.warnings = {"a | b <script>"};
  const std::string text = render_text(show_run(r), 100), md = render_markdown(show_run(r));
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find("\xc2\x9b"), std::string::npos);
  EXPECT_EQ(md.find('\x1b'), std::string::npos);
  EXPECT_NE(md.find("a \\| b \\<script\\>"), std::string::npos);
}

TEST(Show, MarkdownTablesHaveEqualColumns) {
  std::istringstream lines(render_markdown(show_run(toy_record())));
  std::size_t columns = 0, tables = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] != '|') {
      columns = 0;
      continue;
    }
    std::size_t bars = 0;
    for (std::size_t i = 0; i < line.size(); ++i) bars += line[i] == '|' && (i == 0 || line[i - 1] != '\\');
    if (columns == 0) ++tables;
    EXPECT_TRUE(columns == 0 || bars == columns) << line;
    columns = bars;
  }
  EXPECT_GE(tables, 6u);
}

TEST(Show, ARunWithoutAnythingStillPrints) {
  RunRecord r;
  r.verdict = result::Verdict::kFailed;
  const std::string text = render_text(show_run(r), 80);
  EXPECT_EQ(text.find("FAILED: no reason was given\n"), 0u);
  EXPECT_NE(text.find("No evaluation took place."), std::string::npos);
  EXPECT_EQ(text.find("nan"), std::string::npos);
}

}  // namespace
}  // namespace ttt::reports
