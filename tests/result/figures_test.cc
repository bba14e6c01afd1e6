// Last lines of a program about its record, worked out by hand from toy_record.h.
#include "result/figures.h"

#include <gtest/gtest.h>

#include "result/techniques.h"
#include "tests/support/toy_record.h"

namespace ttt::result {
namespace {

std::vector<std::string> lines(const RunRecord& record) {
  std::vector<std::string> all;
  for (const Figure& f : figures_of(record)) all.push_back(figure_line(f));
  return all;
}

// Start-up 2 s, two epochs of 2 s and two evaluations of 1 s; 8 steps of 16 images in 0.5 s.
TEST(Figures, TrainingRun_SaysTimeRateAccuracy) {
  EXPECT_EQ(lines(test::toy_record()),
      (std::vector<std::string>{"FOM time_to_target: 8 s", "FOM epochs_to_target: 2 epochs",
          // mask AP 0.51, 0.505: above at both; box AP 0.4 and 0.52 meet 0.5 at five sixths of the second epoch of 2 s
          "FOM samples_to_target: 128 images", "FOM time_to_crossing: 7.66667 s",
          "FOM epochs_to_crossing: 1.83333 epochs", "FOM images_per_second: 32 images/s", "FOM bbox_ap: 0.52 score",
          "FOM segm_ap: 0.505 score"}));
  EXPECT_EQ(headline(test::toy_record()),
      "PASSED in 8.0 s: box AP 0.520 >= 0.50 and mask AP 0.505 >= 0.50 after 2 epochs; 32.0 images/s");
}

// A run that reached its target and failed afterwards has no time to target.
TEST(Figures, FailedRun_HasRateOnly) {
  RunRecord r = test::toy_record();
  r.verdict = Verdict::kFailed, r.reason = "The disk is full.";
  EXPECT_EQ(lines(r).front(), "FOM images_per_second: 32 images/s");
  EXPECT_EQ(headline(r), "FAILED: The disk is full.");
  r.reason = "Interrupted by SIGINT after step 3 of at most 8.";
  EXPECT_EQ(headline(r), "INTERRUPTED by SIGINT after step 3 of at most 8.");
}

// A quarter longer; what was not measured has no line, and names are words.
TEST(Figures, Ablation_SaysChanges) {
  RunRecord r = test::toy_ablation();
  r.comparisons[0].setting = "4 images a rank";
  r.comparisons[0].variant = "bucketed: 2 MiB";
  EXPECT_EQ(lines(r), std::vector<std::string>{"FOM reducer.bucketed__2_MiB.4_images_a_rank: 25 %"});
}

// The number that people see, and the whole name.
TEST(Figures, Repetition_NumberedAsForPeople) {
  RunRecord r = test::toy_ablation();
  r.comparisons[0].repetition = 1;
  EXPECT_EQ(lines(r), std::vector<std::string>{"FOM reducer.bucketed.2: 25 %"});
  EXPECT_TRUE(row_name(r.comparisons[0]).ends_with(" #2"));
  r.comparisons[0].setting = std::string(300, 'x');
  EXPECT_EQ(lines(r)[0].size(), std::string("FOM reducer.bucketed..2: 25 %").size() + 300);
}

TEST(Figures, Command_AblationsWhereSomethingIsCompared) {
  EXPECT_EQ(report_command(test::toy_record()), "show");
  EXPECT_EQ(report_command(test::toy_ablation()), "ablations");
  RunRecord trainings = test::toy_record();
  trainings.convergence = {{.ablation = "initialisation"}};
  EXPECT_EQ(report_command(trainings), "ablations");
}

TEST(Figures, PeaksAndChecks_BestAndCounts) {
  EXPECT_EQ(lines(test::toy_roofline()),
      (std::vector<std::string>{"FOM matrix_multiply: 150 Gflop/s", "FOM memory_copy: 30 GB/s"}));
  EXPECT_EQ(lines(test::toy_preflight()),
      (std::vector<std::string>{"FOM checks_failed: 1 checks", "FOM checks_warning: 1 checks"}));
}

TEST(Figures, Digits_AreGroupedByThousands) {
  EXPECT_EQ(grouped_digits(0), "0");
  EXPECT_EQ(grouped_digits(999), "999");
  EXPECT_EQ(grouped_digits(1600), "1,600");
  EXPECT_EQ(grouped_digits(117266), "117,266");
  EXPECT_EQ(grouped_digits(-1234567), "-1,234,567");
}

}  // namespace
}  // namespace ttt::result
