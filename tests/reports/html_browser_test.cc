// The page in a browser, where there is one: what is drawn, cut, printed and intact.
#include <gtest/gtest.h>

#include <cstdio>
#include <iterator>
#include <sstream>
#include <stdexcept>

#include "core/temp_folder.h"
#include "reports/html.h"
#include "tests/reports/html_inputs.h"
#include "tests/support/browser.h"
#include "tests/support/published.h"
#include "tests/support/python.h"

namespace ttt::reports {
namespace {

using result::RunRecord;
using test::inputs;

// The document after page.js has run in a browser without a network; its log in `log`.
test::CommandResult load(const TempFolder& folder, const std::string& page, const std::string& options) {
  test::write_text(folder / "page.html", page);
  return test::run_command(
      "timeout 180 " + test::chromium() +
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
  if (dom.status != 0) throw std::runtime_error("The browser ended with status " + std::to_string(dom.status) + ".");
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

Inputs published() {
  Inputs in = read_inputs(test::published_folders(TTT_SOURCE_DIR));
  in.ledger = read_ledger(TTT_SOURCE_DIR "/results");
  return in;
}

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
  const std::string height = "d.documentElement.scrollHeight";
  std::istringstream wide(in_frame(page, 1400,
      "const answer = d.querySelector('#answer table').getBoundingClientRect().bottom, height = " + height +
          "; d.querySelector('#machines').open = true; const t = d.querySelector('#machines .scroll'); "
          "return [Math.ceil(answer), height, t.scrollWidth - t.clientWidth, d.documentElement.dataset.ready].join(' "
          "')"));
  int answer = 0, wide_height = 0, overflow = 0;
  wide >> answer >> wide_height >> overflow;
  const std::string ready(std::istreambuf_iterator<char>(wide), {});
  EXPECT_NE(ready.find(", " + held + " of " + held + " files intact"), std::string::npos) << ready;
  EXPECT_LE(answer, 900);
  EXPECT_EQ(overflow, 0);
  const int narrow_height = std::stoi(in_frame(page, 390, "return " + height));
  std::printf("%zu bytes, %.1f screens of 1400 x 900, %.1f of 390 x 844\n", page.size(), wide_height / 900.0,
      narrow_height / 844.0);
  EXPECT_LE(wide_height, 6 * 900);
  EXPECT_LE(narrow_height, 12 * 844);
}

// All folds are open. No two texts of a plot overlap, none leaves its plot; no cell or page is wider than it shows.
TEST(Browser, OpenPage_CutsNothing) {
  TTT_NEED_CHROMIUM();
  Inputs in = published();
  const std::string long_name = "AMD EPYC family 25 model 17, 128 cores, 8 x NVIDIA H100 80GB HBM3";
  for (ResultFile& r : in.results)
    if (r.run.name.find("epyc") != std::string::npos) r.run.record.system["label"] = long_name;
  const std::string page = html_page(in);
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
