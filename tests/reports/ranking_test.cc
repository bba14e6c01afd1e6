// The ranked screen of published results.
#include "reports/ranking.h"

#include <gtest/gtest.h>

#include <sstream>

#include "core/error.h"
#include "reports/ablations.h"
#include "result/result_file.h"
#include "tests/reports/lines.h"
#include "tests/support/message_of.h"

namespace ttt::reports {
namespace {

NamedRun published(const std::string& file) {
  return {file, result::read_result(TTT_SOURCE_DIR "/results/epyc-avx512-2cores/2026-11-23_ablate_e92fd04/" + file)};
}

TEST(Ranking, PublishedResult_FitsOneScreen) {
  const std::string text = render_text(ablations({published("all.json")}), 100);
  std::istringstream in(text);
  std::size_t lines = 0;
  for (std::string line; std::getline(in, line); ++lines) EXPECT_LE(text_width(line), 100u) << line;
  EXPECT_LE(lines, 40u) << text;
  // what the index of ablations says of this file
  EXPECT_TRUE(test::line_with(text, "precision: bf16").starts_with("precision: bf16 -34.1 % -35.7 to -32.6 %"));
  EXPECT_LT(text.find("precision: bf16"), text.find("reducer: bucketed"));
  EXPECT_NE(text.find("needs a GPU: cuda_graphs, cudnn_autotune"), std::string::npos) << text;
}

// Its program recorded what is in the recipe: the advice stands in the first five lines.
TEST(Ranking, NewestResult_BeginsWithAdvice) {
  const NamedRun run = {
      "all.json", result::read_result(TTT_SOURCE_DIR "/results/epyc-avx512-2cores/2026-11-26_ablate_7ff7db6/all.json")};
  std::istringstream in(render_text(ablations({run}), 100));
  std::size_t lines = 0, advice = 0;
  for (std::string line; std::getline(in, line); ++lines) {
    EXPECT_LE(text_width(line), 100u) << line;
    if (line.starts_with("  change these  --set ")) advice = lines + 1;
  }
  EXPECT_LE(lines, 40u);
  EXPECT_GE(advice, 1u);
  EXPECT_LE(advice, 5u);
}

TEST(Ranking, SelfTest_IsOneLine) {
  const std::string text = render_text(ablations({published("null.json")}), 100);
  EXPECT_EQ(test::line_with(text, "null "), "null 40 of 40 intervals contain 0 (at least 35 wanted)");
}

TEST(Ranking, SeveralResults_OneTableWithLetters) {
  const NamedRun run = published("all.json");
  const std::string text = render_text(ablations({run, {"other.json", run.record}}), 140);
  EXPECT_NE(text.find("A: AMD EPYC, 2 cores, "), std::string::npos);
  EXPECT_TRUE(test::line_with(text, "precision: bf16").starts_with("precision: bf16 A -34.1 %"));
}

TEST(Ranking, Plot_ShowsEndsEstimateAndZero) {
  EXPECT_EQ(interval_plot({-0.5, -0.75, -0.25}, -1, 0, 5), " -*-|");
  EXPECT_EQ(interval_plot({0.5, 0.25, 1}, -1, 1, 9), "    |-*--");
}

TEST(Ranking, UnknownName_NearNameOrRemedy) {
  const auto said = [](const std::string& name) {
    return test::message_of<UsageError>([&] { ablations({published("null.json")}, {.only = {name}}); });
  };
  EXPECT_EQ(said("nul"),
      "'nul' is no file, and no ablation of these results. The nearest is 'null'; "
      "without a name the report shows all.");
  EXPECT_EQ(said("zero_grad"),
      "'zero_grad' is no file, and no ablation of these results. Without a name the report shows all.");
}

}  // namespace
}  // namespace ttt::reports
