// The page: what hostile texts do in it, whether it holds the files, and what a browser makes of it.
#include "reports/html.h"

#include <gtest/gtest.h>

#include <cmath>
#include <ctime>

#include "core/rng.h"
#include "core/temp_folder.h"
#include "reports/effects.h"
#include "reports/packed_text.h"
#include "reports/plots.h"
#include "reports/score.h"
#include "result/result_file.h"
#include "result/time_factors.h"
#include "tests/reports/html_inputs.h"
#include "tests/support/python.h"
#include "tests/support/toy_record.h"

namespace ttt::reports {
namespace {

using result::RunRecord;
using test::inputs;
using test::kHostile;

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

TEST(Html, HostileTextsStayTexts) {
  const std::string page = html_page(inputs());
  EXPECT_EQ(page.find("<img"), std::string::npos);
  EXPECT_EQ(page.find('\x1b'), std::string::npos);
  EXPECT_EQ(count(page, "<script"), count(page, "</script>"));
  EXPECT_EQ(count(page, "<script"), 2u + inputs().results.size());  // plots, ours, and one for each file
  EXPECT_NE(page.find("&lt;/script&gt;&lt;img"), std::string::npos);
}

// Two panels, since an operation's time has nothing in common with a step's.
TEST(Effects, StepsAndOperations_AreApart) {
  RunRecord r = test::toy_ablation();
  r.comparisons.push_back(r.comparisons[0]);
  r.comparisons.back().variant = "alone";
  r.comparisons.back().phases = result::Json::object();
  const Effects worth = effects({{"a.json", r}});
  ASSERT_EQ(worth.steps["rows"].size(), 1u);
  EXPECT_EQ(worth.steps["rows"][0]["name"], "reducer: bucketed");
  EXPECT_EQ(worth.operations["rows"][0]["name"], "reducer: alone");
}

// `r` with a comparison whose steps take `factor` times as long in the variant.
RunRecord with_effect(RunRecord r, const std::string& variant, double factor) {
  result::Comparison c = test::toy_ablation().comparisons[0];
  c.variant = variant;
  for (std::size_t i = 0; i < c.samples.size(); ++i) c.samples.variant_s[i] = factor * c.samples.baseline_s[i];
  r.comparisons.push_back(c);
  return r;
}

// The numbers follow from the factors: 0.5 is -50 %, 2 is +100 %.
TEST(Effects, Rows_RankAndMarkMachines) {
  RunRecord a = test::toy_ablation();
  a.comparisons.clear();
  RunRecord b = a;
  a.system["label"] = "Alpha", b.system["label"] = "Beta";
  a = with_effect(with_effect(with_effect(a, "slow", 2), "fast", 0.5), "none", 1);
  b = with_effect(b, "slow", 0.25);
  const Effects worth = effects({{"a", a}, {"b", b}});
  EXPECT_EQ(worth.steps["machines"], result::Json({"Alpha", "Beta"}));
  ASSERT_EQ(worth.steps["rows"].size(), 2u);
  EXPECT_EQ(worth.steps["rows"][0]["name"], "reducer: slow");
  EXPECT_EQ(worth.steps["rows"][0]["marks"][0]["effect"], "+100.0 %");
  EXPECT_EQ(worth.steps["rows"][0]["marks"][1]["effect"], "-75.0 %");
  EXPECT_EQ(worth.steps["rows"][1]["marks"][0]["effect"], "-50.0 %");
  EXPECT_TRUE(worth.steps["rows"][1]["marks"][1].is_null());
  EXPECT_NE(
      worth.answer.find("reducer: slow changes the time of a training step by +100.0 % on Alpha, -75.0 % on Beta"),
      std::string::npos)
      << worth.answer;
  EXPECT_NE(worth.folded.at(0).find("reducer (none)"), std::string::npos);
}

TEST(Effects, NewestComparison_Counts) {
  RunRecord old = test::toy_ablation();
  old.comparisons.clear();
  RunRecord recent = with_effect(old, "x", 0.5);
  old = with_effect(old, "x", 2);
  old.provenance["started_at"] = "2026-01-01", recent.provenance["started_at"] = "2026-01-02";
  for (const auto& runs : {std::vector<NamedRun>{{"a", old}, {"b", recent}}, {{"b", recent}, {"a", old}}})
    EXPECT_EQ(effects(runs).steps["rows"][0]["marks"][0]["effect"], "-50.0 %");
}

// Repetitions of a known cost of 2 %: those without it inside have another colour.
TEST(Effects, SelfTests_AreSortedByEstimate) {
  RunRecord r = test::toy_ablation();
  r.comparisons.clear();
  for (const double factor : {1.03, 1.02, 1.01}) {
    r = with_effect(r, "A", factor);
    r.comparisons.back().built = result::Json::object();
    r.comparisons.back().known_effect = 0.02;
  }
  const Effects worth = effects({{"a", r}});
  ASSERT_EQ(worth.self_tests.size(), 1u);
  EXPECT_EQ(worth.self_tests[0]["reference"], 2.0);
  std::vector<double> estimates;
  for (const result::Json& row : worth.self_tests[0]["rows"]) estimates.push_back(row["estimate"]);
  ASSERT_EQ(estimates.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(estimates[i], static_cast<double>(i) + 1, 1e-9);
  EXPECT_EQ(worth.self_tests[0]["rows"][0]["holds"], false);
  EXPECT_TRUE(worth.steps.is_null());
}

// Results of earlier programs tell the truth of a null by its name, and of a planted cost not at all.
TEST(Effects, EarlierSelfTests_ClaimNoTruth) {
  RunRecord r = test::toy_ablation();
  r.comparisons.clear();
  r = with_effect(with_effect(r, "A again", 1.1), "dearer", 1.02);
  r.comparisons[0].ablation = "null", r.comparisons[1].ablation = "planted";
  r.comparisons[0].baseline = "A";
  for (result::Comparison& c : r.comparisons) c.built = result::Json::object();
  r.verdict = result::Verdict::kIncorrect;
  const Effects worth = effects({{"a", r}});
  ASSERT_EQ(worth.self_tests.size(), 2u);
  EXPECT_EQ(worth.self_tests[0]["reference"], 0.0);
  EXPECT_EQ(worth.self_tests[0]["rows"][0]["holds"], false);
  EXPECT_TRUE(worth.self_tests[1]["reference"].is_null());
  EXPECT_EQ(worth.self_tests[1]["rows"][0]["holds"], true);
  const auto title = worth.self_tests[1]["title"].get<std::string>();
  EXPECT_EQ(title.find("planted: 1 of 1 intervals exclude 0 ("), 0u) << title;
  EXPECT_NE(title.find("; verdict incorrect)"), std::string::npos) << title;
}

// One variant was not measured, the others were. Rows of other numbers of ranks have their own plot.
TEST(Effects, Folded_NamesOnlyWhatItIs) {
  RunRecord r = test::toy_ablation();
  r.comparisons.clear();
  r = with_effect(with_effect(with_effect(r, "bf16", 0.5), "none", 1), "fp16", 1);
  r.comparisons[2].status = "not_supported", r.comparisons[2].reason = "is for GPUs";
  RunRecord more = r;
  r = with_effect(r, "third", 0.9);
  more.comparisons = {more.comparisons[1]}, more.comparisons[0].variant = "flat";
  more.system["world_size"] = 8;
  const Effects worth = effects({{"a", r}, {"b", more}});
  ASSERT_EQ(worth.folded.size(), 2u);
  EXPECT_EQ(worth.folded[0].find("flat"), std::string::npos) << worth.folded[0];
  EXPECT_EQ(worth.folded[1], "Not measured, needs a GPU: reducer (fp16).");
}

// The fastest run of each number of accelerators that reached the target. Ours stands beside where it has that target.
TEST(Plots, PublishedTimes_AreLines) {
  RunRecord own = test::toy_record();
  const auto system = [](int accelerators, std::vector<std::string> status, std::vector<double> minutes) {
    return result::Json{{"submitter", "s"}, {"system", "n"}, {"accelerator", "A100"}, {"division", "closed"},
        {"accelerators", accelerators}, {"status", status}, {"run_min", minutes}};
  };
  result::Json document = {{"published_results", "MLPerf v3.0, Mask R-CNN"},
      {"target", result::metrics_json(*own.target)},
      {"systems", {system(8, {"success", "aborted", "success"}, {20, 1, 19}), system(64, {"success"}, {4})}}};
  auto plots = published_plots({{"m.json", document}}, {{"own.json", own}});
  ASSERT_EQ(plots.size(), 1u);
  const result::Json& series = plots[0]["series"];
  ASSERT_EQ(series.size(), 2u);
  EXPECT_EQ(series[0]["name"], "A100, MLPerf v3.0");
  EXPECT_EQ(series[0]["points"], (result::Json{{8.0, 19.0}, {64.0, 4.0}}));
  EXPECT_NE(series[1]["name"].get<std::string>().find("measured here"), std::string::npos);
  EXPECT_EQ(series[1]["points"][0][1].get<double>(), result::time_factors(own).time_to_target_s / 60);
  document["target"]["bbox_ap"] = 0.99;
  plots = published_plots({{"m.json", document}}, {{"own.json", own}});
  ASSERT_EQ(plots.size(), 1u);
  EXPECT_EQ(plots[0]["series"].size(), 1u);
}

// Ours takes twice the peer's time.
TEST(Html, MicroAlone_AnswersFirst) {
  const auto entry = [](const char* name, double rate) {
    return result::Json{{"name", name}, {"run_name", name}, {"run_type", "iteration"}, {"iterations", 1},
        {"real_time", 1e9 / rate}, {"cpu_time", 1e9 / rate}, {"time_unit", "ns"}, {"boxes/s", rate}};
  };
  const result::Json file = {
      {"context", result::Json::object()}, {"benchmarks", {entry("nms/8/ours", 2e6), entry("nms/8/aten", 4e6)}}};
  Inputs in;
  in.benches.push_back({bench_from_json(file, "micro.json"), file.dump()});
  const std::string page = html_page(in), answer = page.substr(page.find("<section id=\"answer\""));
  EXPECT_NE(answer.substr(0, answer.find("</section>")).find("micro: ours is 0.5 times as fast"), std::string::npos)
      << answer.substr(0, 500);
}

// The parts of the toy run are binary fractions: two epochs of 2 s, and 8 s in all to the target.
TEST(Plots, TimeToTarget_OfPassedRuns) {
  RunRecord smoke = test::toy_record();
  smoke.verdict = result::Verdict::kSmoke;
  EXPECT_TRUE(time_plots({{"smoke.json", smoke}}).empty());
  const result::Json plot = time_plots({{"smoke.json", smoke}, {"passed.json", test::toy_record()}}).at(0);
  EXPECT_EQ(plot["rows"], result::Json({"passed.json: 2 epochs x 2.0 s"}));
  EXPECT_EQ(plot["ends"], result::Json({"8.0 s"}));
  Inputs in;
  in.results.push_back({{"smoke.json", smoke}, result::result_text(smoke)});
  const std::string page = html_page(in);
  const std::size_t fold = page.find("<details id=\"not-to-target\"");
  ASSERT_NE(fold, std::string::npos);
  EXPECT_LT(fold, page.find("smoke</td>"));
}

// A run of days has a million steps.
TEST(Html, MillionSteps_TakeSeconds) {
  RunRecord r = test::toy_record();
  for (std::int64_t i = 8; i < 1'000'000; ++i) r.steps.add(test::toy_step(i));
  Inputs in;
  in.results.push_back({{"long.json", r}, "{}"});
  const std::clock_t start = std::clock();  // of the processor: others may use it too
  EXPECT_FALSE(html_page(in).empty());
  EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, 3);
}

TEST(Html, OneFile_FetchesNothing) {
  const std::string page = html_page(inputs());
  const std::string empty = html_page({});  // without the hostile texts
  for (const char* part : {" src=", "@import", "url(", "<link"})
    EXPECT_EQ(empty.substr(0, empty.find("<script>")).find(part), std::string::npos) << part;
  EXPECT_NE(page.find("default-src 'none'"), std::string::npos);
  EXPECT_NE(page.find("cut.json"), std::string::npos);
  EXPECT_NE(page.find("it was truncated"), std::string::npos);
}

TEST(Html, NoInput_IsStillAPage) {
  const std::string page = html_page({});
  EXPECT_NE(page.find("0 results. Made by report"), std::string::npos);
}

// Thirty results of the published size, with samples that no compressor can shorten more than real ones.
TEST(Html, ThirtyResultsStayBelowThreeMegabytes) {
  Inputs in;
  for (std::uint64_t n = 0; n < 30; ++n) {
    RunRecord r = test::toy_record();
    r.steps.truncate(0);
    Stream random(random_bits(n, Purpose::kTest, 5));
    for (std::int64_t i = 0; i < 800; ++i) {
      result::StepSample s = test::toy_step(i);
      double clock = 12345.678;  // differences of a clock, as samples are
      for (double& p : s.phase_s) {
        const double next = clock + random.uniform(1e-4, 0.1);
        p = next - clock, clock = next;
      }
      s.step_s = clock - 12345.678;
      for (double& l : s.loss) l = static_cast<float>(random.uniform());
      r.steps.add(s);
    }
    in.results.push_back({{"r" + std::to_string(n) + ".json", r}, result::result_text(r)});
  }
  EXPECT_GT(in.results[0].text.size(), 200'000u);
  EXPECT_LT(html_page(in).size(), 3'000'000u);
}

TEST(Html, Numbers_AreTheResults) {
  Stream random(random_bits(1, Purpose::kTest, 6));
  int shortest = 0;
  for (int i = 0; i < 20000; ++i) {
    const double x =
        (i % 2 ? 1 : -1) * std::exp2(random.uniform(-60, 60)) * (i % 3 ? 1 : std::floor(random.uniform(1, 9)));
    shortest += json_number(x) == result::dump(result::Json(x));
  }
  // the library's digits are the shortest for all but some in a hundred: these travel as text
  EXPECT_GT(shortest, 19600);
  for (const double x :
      {0.0, -0.0, 1.0, 1e-4, 1e-5, 0.001, 123456789012345.0, 1e15, 1e16, 1e22, 5e-324, 1.7976931348623157e308, -1.5e-7})
    EXPECT_EQ(json_number(x), result::dump(result::Json(x)));
}

TEST(Html, HistogramsHoldAllSamples) {
  const std::vector<double> edges = {1, 2, 4, 8};
  EXPECT_EQ(histogram({1, 1.5, 2, 8}, edges), (std::vector<double>{50, 25, 25}));
  EXPECT_EQ(histogram({8}, edges), (std::vector<double>{0, 0, 100}));
}

// The last batch of an epoch is left out: after the first "epoch" a pass and a half over the images, in the plot as in
// `report accuracy`.
TEST(Html, PlotsOverEpochsCountImages) {
  RunRecord r = test::toy_record();
  r.accuracy[0].images = 96;
  const result::Json plot = accuracy_plots({{"a", r}}).at(2);
  EXPECT_EQ(plot.at("x"), "epochs");
  EXPECT_EQ(plot.at("series").at(0).at("points").at(0).at(0), 1.5);
  EXPECT_EQ(plot.at("series").at(0).at("points").at(1).at(0), 2.0);
}

// A run that failed before its first step is the slowest, on the page too.
TEST(Html, ScoresAreThoseOfReportScore) {
  Inputs in;
  std::vector<NamedRun> runs;
  for (std::int64_t i = 0; i < 5; ++i) {
    RunRecord r = test::toy_record();
    r.recipe.settings["seed"] = i;
    r.accuracy[1].wall_s = 10 * static_cast<double>(i + 1);
    if (i == 4) r.verdict = result::Verdict::kFailed, r.accuracy.clear(), r.steps.truncate(0);
    runs.push_back({"run" + std::to_string(i), r});
    in.results.push_back({runs.back(), result::result_text(r)});
  }
  const Cell mean = std::get<Table>(score(runs)[1]).rows[0][1];
  EXPECT_EQ(mean.values, std::vector<double>{30});
  EXPECT_NE(html_page(in).find(
                "<th scope=\"row\" class=\"s\">Olympic mean</th><td class=\"n\" data-v=\"30\">" + mean.text + "</td>"),
      std::string::npos);
}

}  // namespace
}  // namespace ttt::reports
