// The page: what hostile texts do in it, whether it holds the files, and what a browser makes of it.
#include "reports/html.h"

#include <gtest/gtest.h>

#include <cmath>
#include <ctime>

#include "core/rng.h"
#include "core/temp_folder.h"
#include "reports/packed_text.h"
#include "reports/plots.h"
#include "reports/score.h"
#include "result/result_file.h"
#include "tests/support/python.h"
#include "tests/support/toy_record.h"

namespace ttt::reports {
namespace {

using result::RunRecord;

const char* const kHostile = "</script><img src=x onerror=alert(1)>{{chart}}\"'&\x1b[2J";

Inputs inputs() {
  Inputs in;
  const auto add = [&](const std::string& name, const RunRecord& r) {
    in.results.push_back({{name, r}, result::result_text(r)});
  };
  RunRecord hostile = test::toy_record();
  hostile.reason = hostile.recipe.name = hostile.kind = kHostile;
  hostile.warnings = {kHostile};
  add("results/a.json", test::toy_record());
  add(std::string("results/b") + kHostile + ".json", hostile);
  RunRecord ablation = test::toy_ablation();
  ablation.comparisons[0].variant = ablation.comparisons[0].ablation = kHostile;
  add("ablation.json", ablation);
  in.left_out = {{"cut.json", std::string("it was truncated ") + kHostile, 3}};
  return in;
}

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
  EXPECT_EQ(count(page, "<script"), 3u + inputs().results.size());  // plots, Chart.js, ours, and one for each file
  EXPECT_NE(page.find("&lt;/script&gt;&lt;img"), std::string::npos);
}

// Two panels, since an operation's time has nothing in common with a step's.
TEST(Plots, StepsAndOperations_AreApart) {
  RunRecord r = test::toy_ablation();
  r.comparisons.push_back(r.comparisons[0]);
  r.comparisons.back().phases = result::Json::object();
  const std::vector<result::Json> plots = ablation_plots({{"a.json", r}});
  ASSERT_EQ(plots.size(), 2u);
  EXPECT_EQ(plots[0]["title"], "Training step: a.json");
  EXPECT_EQ(plots[1]["title"], "One operation alone: a.json");
}

TEST(Plots, TimeToTarget_OfPassedRuns) {
  RunRecord smoke = test::toy_record();
  smoke.verdict = result::Verdict::kSmoke;
  EXPECT_TRUE(time_plots({{"smoke.json", smoke}}).empty());
  EXPECT_EQ(time_plots({{"smoke.json", smoke}, {"passed.json", test::toy_record()}}).at(0)["rows"],
      result::Json({"passed.json"}));
  Inputs in;
  in.results.push_back({{"smoke.json", smoke}, result::result_text(smoke)});
  const std::string page = html_page(in);
  EXPECT_LT(page.find("<summary>Not to a target</summary>"), page.find("smoke</td>"));
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
  EXPECT_NE(page.find("Chart.js v3"), std::string::npos);
  EXPECT_NE(page.find("(c) 2022 Chart.js Contributors"), std::string::npos);  // the licence's notice
  EXPECT_NE(page.find("cut.json"), std::string::npos);
  EXPECT_NE(page.find("it was truncated"), std::string::npos);
}

TEST(Html, NoInput_IsStillAPage) {
  const std::string page = html_page({});
  EXPECT_NE(page.find("0 results, 0 files of micro-benchmarks, 0 left out"), std::string::npos);
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

std::string chromium() {
  for (const char* name : {"chromium", "chromium-browser", "google-chrome"})
    if (const auto found = test::run_command(std::string("command -v ") + name); found.status == 0)
      return found.output.substr(0, found.output.find('\n'));
  return "";
}

// The document after page.js has run in a browser without a network; its log in `log`.
test::CommandResult load(const TempFolder& folder, const std::string& page, const std::string& options) {
  test::write_text(folder / "page.html", page);
  return test::run_command(
      "timeout 90 " + chromium() +
      " --headless=new --no-sandbox --disable-gpu --user-data-dir=" + (folder / "profile").string() +
      " --host-resolver-rules='MAP * ~NOTFOUND' --virtual-time-budget=20000 --enable-logging=stderr --v=0 --dump-dom " +
      options + " file://" + (folder / "page.html").string() + " 2>" + (folder / "log").string());
}

#define TTT_NEED_CHROMIUM() \
  if (chromium().empty()) GTEST_SKIP() << "no Chromium: apt-get install chromium"

TEST(Browser, Page_DrawsWithoutErrors) {
  TTT_NEED_CHROMIUM();
  for (const char* options : {"", "--blink-settings=preferredColorScheme=0"}) {
    TempFolder folder;
    const auto dom = load(folder, html_page(inputs()), options);
    const std::string log = test::read_text(folder / "log");
    EXPECT_EQ(dom.status, 0) << log;
    EXPECT_NE(dom.output.find("data-ready=\"8 plots, 3 of 3 files intact\""), std::string::npos) << log;
    EXPECT_EQ(log.find("CONSOLE"), std::string::npos) << log;
    EXPECT_EQ(dom.output.find("<img"), std::string::npos);
  }
}

// Chart.js draws what plots.cc means: the share of the bin from x[i] to x[i + 1] is the height at x[i], held until x[i
// + 1].
TEST(Browser, HistogramShare_OverItsBin) {
  TTT_NEED_CHROMIUM();
  Inputs in;
  RunRecord r = test::toy_record();
  for (std::size_t i = 0; i < r.steps.size(); ++i) r.steps.step_s[i] = 0.125 * static_cast<double>(i + 1);
  in.results.push_back({{"a.json", r}, result::result_text(r)});
  TempFolder folder;
  test::write_text(folder / "inner.html", html_page(in));
  const std::string frame =
      "<!DOCTYPE html><iframe id=f src=inner.html style='width:1000px;height:900px'></iframe><script>f.onload = () => "
      "setTimeout(() => { "
      "const canvas = [...f.contentDocument.querySelectorAll('canvas')].find((c) => "
      "c.getAttribute('aria-label').startsWith('Distribution')), "
      "meta = f.contentWindow.Chart.getChart(canvas).getDatasetMeta(0), at = meta.data, drawn = [], add = (x, y) => "
      "drawn.push([x, y]); "
      "meta.dataset.path({ moveTo: add, lineTo: add }); let wrong = 0; "
      "for (let i = 1; i < at.length; ++i) wrong += drawn[2 * i - 1][0] !== at[i].x || drawn[2 * i - 1][1] !== at[i - "
      "1].y; "
      "document.title = at.length + ' points, ' + new Set(at.map((p) => p.y)).size + ' heights, ' + wrong + ' wrong'; "
      "}, 3000)</script>";
  const auto dom = load(folder, frame, "--allow-file-access-from-files");
  EXPECT_NE(dom.output.find("41 points, 2 heights, 0 wrong"), std::string::npos)
      << dom.output.substr(0, 500) << test::read_text(folder / "log");
}

// Does the check see what it is to see?
TEST(Browser, DamagedFileOrScript_IsSeen) {
  TTT_NEED_CHROMIUM();
  TempFolder folder;
  Inputs in = inputs();
  const std::string good = html_page(in);
  in.results[0].text.replace(in.results[0].text.find("0.52"), 4, "0.53");
  const std::string other = html_page(in);
  // The packed text of another file beside the hash of the first.
  const auto packed = [](const std::string& page) {
    const std::size_t begin = page.find("<script type=\"text/plain\">") + 26;
    return page.substr(begin, page.find("</script>", begin) - begin);
  };
  std::string damaged = good;
  damaged.replace(damaged.find(packed(good)), packed(good).size(), packed(other));
  EXPECT_NE(load(folder, damaged, "").output.find("2 of 3 files intact"), std::string::npos);
  std::string foreign = good;
  foreign.insert(foreign.find("</main>"), "<script>document.title = 'taken over'</script>");
  EXPECT_EQ(load(folder, foreign, "").output.find("<title>taken over"), std::string::npos);
  EXPECT_NE(test::read_text(folder / "log").find("CONSOLE"), std::string::npos);
}

// The longest names that there are: those of all ablations, as published.
TEST(Browser, LabelsOfRowsDoNotOverlap) {
  TTT_NEED_CHROMIUM();
  Inputs in;
  for (const char* name :
      {"ablate_e92fd04/all.json", "trace_e92fd04/4_ranks_flat_async.json", "trace_e92fd04/4_ranks_blocking.json"}) {
    const std::string path = std::string(TTT_SOURCE_DIR "/results/epyc-avx512-2cores/2026-11-23_") + name;
    in.results.push_back({{name, result::read_result(path)}, test::read_text(path)});
  }
  const std::string page = html_page(in);
  for (const int width : {390, 1400}) {
    TempFolder folder;
    test::write_text(folder / "inner.html", page);
    // A line of a label takes 14.4 pixels (Chart.js: a font of 12, 1.2 times).
    const std::string frame =
        "<!DOCTYPE html><iframe id=f src=inner.html style='border:0;width:" + std::to_string(width) +
        "px;height:900px'></iframe><script>f.onload = () => setTimeout(() => { let labels = 0, most = 0, overlaps = 0; "
        "for (const canvas of f.contentDocument.querySelectorAll('canvas')) { const y = "
        "f.contentWindow.Chart.getChart(canvas).scales.y; "
        "const size = (i) => (Array.isArray(y.ticks[i].label) ? y.ticks[i].label.length : 1) * 14.4; "
        "for (let i = 0; i < y.ticks.length; ++i) { labels += 1; most = Math.max(most, size(i) / 14.4); "
        "if (i > 0) overlaps += Math.abs(y.getPixelForTick(i) - y.getPixelForTick(i - 1)) < (size(i) + size(i - 1)) / "
        "2; } } "
        "document.title = (labels > 50) + ', ' + (most > 2) + ', ' + overlaps + ' overlaps'; }, 3000)</script>";
    const auto dom = load(folder, frame, "--allow-file-access-from-files");
    EXPECT_NE(dom.output.find("true, true, 0 overlaps"), std::string::npos) << dom.output.substr(0, 300);
  }
}

TEST(Browser, APhoneNeedsNoHorizontalScroll) {
  TTT_NEED_CHROMIUM();
  for (const int width : {390, 1400}) {
    TempFolder folder;
    test::write_text(folder / "inner.html", html_page(inputs()));
    // A browser's window is 500 pixels wide at least; a frame is as narrow as it is told. The frame's own document
    // cannot be measured from another file, so both are of one origin here.
    const std::string frame =
        "<!DOCTYPE html><iframe id=f src=inner.html style='border:0;width:" + std::to_string(width) +
        "px;height:900px'></iframe><script>f.onload = () => setTimeout(() => { const d = "
        "f.contentDocument.documentElement; "
        "document.title = d.dataset.ready + '; ' + (d.scrollWidth - d.clientWidth) + ' too wide'; }, 3000)</script>";
    const auto dom = load(folder, frame, "--allow-file-access-from-files");
    EXPECT_NE(dom.output.find("files intact; 0 too wide"), std::string::npos) << dom.output.substr(0, 500);
  }
}

}  // namespace
}  // namespace ttt::reports
