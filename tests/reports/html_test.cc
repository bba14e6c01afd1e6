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
#include "tests/support/browser.h"
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
  EXPECT_NE(worth.folded.at(0).find("reducer: none"), std::string::npos);
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

// The document after page.js has run in a browser without a network; its log in `log`.
test::CommandResult load(const TempFolder& folder, const std::string& page, const std::string& options) {
  test::write_text(folder / "page.html", page);
  return test::run_command(
      "timeout 90 " + test::chromium() +
      " --headless=new --no-sandbox --disable-gpu --user-data-dir=" + (folder / "profile").string() +
      " --host-resolver-rules='MAP * ~NOTFOUND' --virtual-time-budget=20000 --enable-logging=stderr --v=0 --dump-dom " +
      options + " file://" + (folder / "page.html").string() + " 2>" + (folder / "log").string());
}

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

// Runs `script` in a frame of the page as wide as told (a window is 500 pixels wide at least); its answer.
std::string in_frame(const std::string& page, int width, const std::string& script, const std::string& options = "") {
  TempFolder folder;
  test::write_text(folder / "inner.html", page);
  const auto dom = load(folder,
      "<!DOCTYPE html><title>none</title><iframe id=f src=inner.html style='border:0;width:" + std::to_string(width) +
          "px;height:900px'></iframe><script>const ask = () => { const d = f.contentDocument, w = f.contentWindow, all "
          "= (s) => [...d.querySelectorAll(s)]; if (!d.documentElement.dataset.ready) return setTimeout(ask, 50); "
          "document.title = (() => {" +
          script + "})(); }; f.onload = ask</script>",
      "--allow-file-access-from-files " + options);
  const std::string log = test::read_text(folder / "log");
  EXPECT_EQ(log.find("CONSOLE"), std::string::npos) << log;
  const std::size_t begin = dom.output.find("<title>") + 7;
  return dom.output.substr(begin, dom.output.find("</title>") - begin);
}

// The share of the bin from edge to edge is the width over that bin: the toy's step times fill two of forty bins.
TEST(Browser, ViolinShare_OverItsBin) {
  TTT_NEED_CHROMIUM();
  Inputs in;
  RunRecord r = test::toy_record();
  for (std::size_t i = 0; i < r.steps.size(); ++i) r.steps.step_s[i] = i % 4 == 0 ? 0.125 : 1;
  in.results.push_back({{"a.json", r}, result::result_text(r)});
  const std::string answer = in_frame(html_page(in), 1000,
      "const p = d.querySelector('.violin path').getAttribute('d').slice(1, -1).split('L').map((t) => t.split(' "
      "').map(Number));"
      "const wide = [...Array(40).keys()].map((i) => p[159 - 2 * i][1] - p[2 * i][1]);"
      "return `${p.length} points, ${wide.filter((h) => h > 0).length} bins, ${(wide[39] / wide[0]).toFixed(6)}`");
  EXPECT_EQ(answer, "160 points, 2 bins, 3.000000");
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

Inputs published() { return read_inputs({TTT_SOURCE_DIR "/results"}); }

TEST(Browser, PublishedResults_FitFewScreens) {
  TTT_NEED_CHROMIUM();
  const Inputs in = published();
  const std::string page = html_page(in);
  EXPECT_LT(page.size(), 3'000'000u);
  // Small files are held, the largest are named.
  std::size_t named = 0;
  for (std::size_t at = 0; (at = page.find("no room in this page", at)) != std::string::npos; ++at) ++named;
  EXPECT_LT(named, in.results.size() / 4);
  const std::string held = std::to_string(in.results.size() - named);
  EXPECT_NE(in_frame(page, 1400, "return d.documentElement.dataset.ready")
                .find(", " + held + " of " + held + " files intact"),
      std::string::npos);
  const std::string answer = "return Math.ceil(d.querySelector('#answer table').getBoundingClientRect().bottom)";
  EXPECT_LE(std::stoi(in_frame(page, 1400, answer)), 900);
  const std::string height = "return d.documentElement.scrollHeight";
  EXPECT_LE(std::stoi(in_frame(page, 1400, height)), 6 * 900);
  EXPECT_LE(std::stoi(in_frame(page, 390, height)), 12 * 844);
}

// All folds are open. No two texts of a plot overlap, none leaves its plot; no cell or page is wider than it shows.
TEST(Browser, OpenPage_CutsNothing) {
  TTT_NEED_CHROMIUM();
  const std::string page = html_page(published());
  const std::string script =
      "all('details:not(.raw)').forEach((x) => { x.open = true; }); w.drawAll(); let texts = 0, overlaps = 0, outside "
      "= 0;"
      "for (const svg of all('svg')) { const own = svg.getBoundingClientRect(), boxes = "
      "[...svg.querySelectorAll('text')]."
      "map((t) => [t.getBoundingClientRect(), t.textContent]); texts += boxes.length;"
      "boxes.forEach(([a], i) => { outside += a.left < own.left - 1 || a.right > own.right + 1 || a.bottom > "
      "own.bottom + 1;"
      "for (const [b] of boxes.slice(i + 1)) overlaps += a.left < b.right - 1 && b.left < a.right - 1 && a.top < "
      "b.bottom "
      "- 3 && b.top < a.bottom - 3; }); }"
      "let cut = 0; if (innerWidth && d.documentElement.clientWidth < 600) for (const cell of all('td, th')) "
      "{ const r = cell.getBoundingClientRect(); cut += cell.scrollWidth > cell.clientWidth + 1 || r.right > "
      "d.documentElement.clientWidth; }"
      "return `${texts > 200} texts, ${overlaps} overlaps, ${outside} outside, ${cut} cut, "
      "${d.documentElement.scrollWidth - d.documentElement.clientWidth} too wide`";
  for (const int width : {390, 760, 1400})
    for (const char* options : {"", "--blink-settings=preferredColorScheme=0"})
      EXPECT_EQ(in_frame(page, width, script, options), "true texts, 0 overlaps, 0 outside, 0 cut, 0 too wide")
          << width;
}

// The folds are closed. The narrow layout of the plots would take five sheets.
TEST(Browser, Printed_ThreeSheets) {
  TTT_NEED_CHROMIUM();
  TempFolder folder;
  test::write_text(folder / "page.html", html_page(published()));
  const auto printed =
      test::run_command("timeout 90 " + test::chromium() +
                        " --headless=new --no-sandbox --disable-gpu --user-data-dir=" + (folder / "profile").string() +
                        " --no-pdf-header-footer --print-to-pdf=" + (folder / "page.pdf").string() + " file://" +
                        (folder / "page.html").string() + " 2>&1");
  ASSERT_EQ(printed.status, 0) << printed.output;
  const std::string pdf = test::read_text(folder / "page.pdf"), mark = "/Count ";
  ASSERT_NE(pdf.find(mark), std::string::npos);
  EXPECT_LE(std::stoi(pdf.substr(pdf.find(mark) + mark.size(), 4)), 3);
}

TEST(Browser, SvgOfAPlot_StandsAlone) {
  TTT_NEED_CHROMIUM();
  const std::string answer = in_frame(html_page(inputs()), 1000,
      "const text = w.svgText(d.querySelector('[data-plot]')), doc = new DOMParser().parseFromString(text, "
      "'image/svg+xml'); return `${doc.documentElement.tagName}, ${text.includes('var(')}, "
      "${doc.querySelectorAll('text').length > 3}`");
  EXPECT_EQ(answer, "svg, false, true");
}

TEST(Browser, Filter_HidesOtherResults) {
  TTT_NEED_CHROMIUM();
  const std::string answer = in_frame(html_page(inputs()), 1000,
      "const box = d.getElementById('filter'); box.value = 'ABLATION.json'; box.dispatchEvent(new Event('input'));"
      "return all('details.result').map((x) => x.hidden).join()");
  EXPECT_EQ(answer, "true,true,false");
}

}  // namespace
}  // namespace ttt::reports
