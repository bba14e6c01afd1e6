// The SVG pictures: README's are made of the results that are published, and a browser finds nothing cut off.
#include "reports/pictures.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "core/temp_folder.h"
#include "core/whole_file.h"
#include "reports/inputs.h"
#include "result/result_file.h"
#include "tests/support/browser.h"
#include "tests/support/message_of.h"
#include "tests/support/published.h"
#include "tests/support/toy_record.h"

namespace ttt::reports {
namespace {

const std::filesystem::path kSource = TTT_SOURCE_DIR;

// `name`: what the EPYC is called; "": by its own.
std::vector<Picture> of_published_results(const std::string& name = "") {
  const Inputs all = read_inputs(test::published_folders(kSource));
  std::vector<NamedRun> runs;
  for (const ResultFile& r : all.results) {
    runs.push_back(r.run);
    if (!name.empty() && r.run.name.find("epyc") != std::string::npos) runs.back().record.system["label"] = name;
  }
  return pictures(runs);
}

TEST(Pictures, Readme_ShowsPublishedResults) {
  for (const Picture& p : of_published_results())
    EXPECT_EQ(result::read_text(kSource / "docs" / "pictures" / (p.name + ".svg")), p.svg)
        << "make them anew: build/bin/report pictures results --out docs/pictures --force";
}

// Every text and mark of the picture in a browser's own measure: [name, left, top, right, bottom].
TEST(Pictures, Browser_FindsNothingCutOff) {
  TTT_NEED_CHROMIUM();
  const TempFolder folder;
  for (const Picture& p : of_published_results("AMD EPYC family 25 model 17, 128 cores, 8 x NVIDIA H100 80GB HBM3")) {
    const std::filesystem::path page = folder / (p.name + ".html");
    write_whole_file(page, "<body style='margin:0'>" + p.svg + R"(<script>
      const svg = document.querySelector('svg'), all = svg.getBoundingClientRect();
      const out = [...svg.querySelectorAll('text, circle, rect')].filter(e => {
        const b = e.getBoundingClientRect();
        return b.left < 0 || b.top < 0 || b.right > all.right || b.bottom > all.bottom; });
      document.title = 'outside: ' + out.length + ' of ' + svg.querySelectorAll('text').length;
      document.body.dataset.outside = document.title + out.map(e => ' ' + e.textContent);</script>)");
    const auto found =
        test::run_command("timeout 60 " + test::chromium() +
                          " --headless --no-sandbox --disable-gpu --dump-dom file://" + page.string() + " 2>/dev/null");
    EXPECT_NE(found.output.find("outside: 0 of "), std::string::npos) << p.name << found.output.substr(0, 2000);
    EXPECT_EQ(found.output.find("outside: 0 of 0"), std::string::npos);
  }
}

// Some rows of the published results are disturbed; a run of the toy is not.
TEST(Pictures, DisturbedRows_AreMarked) {
  const auto techniques_of = [](const std::vector<Picture>& all) {
    for (const Picture& p : all)
      if (p.name == "techniques") return p.svg;
    return std::string();
  };
  const std::string published = techniques_of(of_published_results());
  EXPECT_NE(published.find(") !</text>"), std::string::npos);
  EXPECT_NE(published.find("!: disturbed, repeat when quiet."), std::string::npos);
  const std::string quiet = techniques_of(pictures({{"a.json", test::toy_ablation()}}));
  EXPECT_NE(quiet.find("</svg>"), std::string::npos);
  EXPECT_EQ(quiet.find(" !</text>"), std::string::npos);
  EXPECT_EQ(quiet.find("disturbed"), std::string::npos);
}

TEST(Pictures, HostileName_StaysText) {
  result::RunRecord run = test::toy_record();
  run.system["nodes"][0]["cpu"] = "<script>alert(1)</script>";
  for (const Picture& p : pictures({{"a.json", run}})) EXPECT_EQ(p.svg.find("<script"), std::string::npos);
}

TEST(Pictures, NothingToDraw_IsRefused) {
  result::RunRecord run = test::toy_record();
  run.verdict = result::Verdict::kSmoke;
  run.comparisons.clear();
  EXPECT_NE(test::message_of<UsageError>([&] { pictures({{"a.json", run}}); }).find("No picture"), std::string::npos);
}

}  // namespace
}  // namespace ttt::reports
