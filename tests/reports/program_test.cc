// The program `report` from outside: files, exit codes, refusals.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/temp_folder.h"
#include "result/result_file.h"
#include "result/run_recorder.h"
#include "tests/reports/lines.h"
#include "tests/support/python.h"
#include "tests/support/toy_record.h"

namespace ttt::reports {
namespace {

using result::RunRecord;
using test::line_with;
using test::run_command;
using test::toy_record;

class ReportProgram : public testing::Test {
 protected:
  test::CommandResult report(const std::string& arguments) { return run_command(TTT_REPORT " " + arguments + " 2>&1"); }
  TempFolder folder_;
};

TEST_F(ReportProgram, ShowsAFileByDefault) {
  result::write_result(folder_ / "a.json", toy_record());
  const std::string file = (folder_ / "a.json").string();
  EXPECT_EQ(report(file).status, 0);
  EXPECT_EQ(report(file).output.substr(0, 17), "PASSED in 8.0 s: ");
  EXPECT_EQ(report("show " + file).output, report(file).output);
  EXPECT_EQ(report(file + " --format md").output.substr(0, 20), "## PASSED in 8.0 s: ");
  EXPECT_EQ(report("show --width 40 " + file).status, 0);
}

TEST_F(ReportProgram, Folders_AreSearchedAtEveryDepth) {
  const std::filesystem::path deepest = folder_ / "machine" / "20260101_quickstart";
  std::filesystem::create_directories(deepest);
  result::write_result(folder_ / "top.json", toy_record());
  result::write_result(folder_ / "machine" / "middle.json", toy_record());
  result::write_result(deepest / "1.json", toy_record());
  test::write_text(folder_ / "machine" / "table.json", "{\"systems\": []}");  // of another kind
  const std::string page = (folder_ / "page.html").string();
  const auto r = report("html " + folder_.path().string() + " --out " + page);
  ASSERT_EQ(r.status, 0) << r.output;
  const std::string named = folder_.path().string() + " " + (folder_ / "machine" / "table.json").string();
  EXPECT_EQ(report("html " + named + " --out " + page + ".second").status, 3);
  const std::string html = test::read_text(page);
  for (const char* name : {"top.json", "middle.json", "1.json"}) EXPECT_NE(html.find(name), std::string::npos) << name;
}

// B's steps and its time to target are a quarter longer. Options may stand behind the groups.
TEST_F(ReportProgram, Gate_ExitCodeTells) {
  for (const char* side : {"a", "b"}) {
    std::filesystem::create_directory(folder_ / side);
    for (int i = 0; i < 4; ++i) {
      RunRecord r = toy_record();
      r.run_id = side + std::to_string(i);
      if (*side == 'b') r.accuracy[1].wall_s += 2;
      result::write_result(folder_ / side / (std::to_string(i) + ".json"), r);
    }
  }
  const std::string a = (folder_ / "a").string(), b = (folder_ / "b").string();
  const auto failed = report("compare " + a + "/*.json -- " + b + "/*.json --gate 3%");
  EXPECT_EQ(failed.status, 1) << failed.output;
  EXPECT_TRUE(failed.output.starts_with("A is 1.26 times as fast as B (time to crossing 7.667 s -> 9.667 s, 95 % "))
      << failed.output;
  EXPECT_NE(failed.output.find("Gate of 3 %: failed."), std::string::npos);
  EXPECT_EQ(report("compare " + a + " " + b + " --gate 30%").status, 0);
  EXPECT_EQ(report("compare " + b + " " + a + " --gate 3%").status, 0);
  EXPECT_EQ(report("compare " + a + " -- " + a + " --gate 3%").status, 0);
  EXPECT_EQ(report("compare " + a + "/0.json " + b + "/0.json --gate 3%").status, 2);
  EXPECT_EQ(report("compare " + a + " -- --gate 3%").status, 2);
  EXPECT_EQ(report("compare " + a + " " + b + " --gate much").status, 2);
  EXPECT_EQ(report("history " + a).status, 0);
}

// Four copies of a run are one run, whether they are named twice or stand in two folders.
TEST_F(ReportProgram, Copies_CountOnce) {
  RunRecord r = toy_record();
  result::write_result(folder_ / "1.json", r);
  std::filesystem::copy_file(folder_ / "1.json", folder_ / "2.json");  // a second record may start a second later
  r.run_id = "fedcba9876543210";
  result::write_result(folder_ / "3.json", r);
  const std::string a = (folder_ / "1.json").string(), b = (folder_ / "2.json").string(),
                    c = (folder_ / "3.json").string();
  const auto copies = report("compare " + a + " " + a + " " + b + " " + folder_.path().string() + " -- " + c);
  EXPECT_EQ(copies.status, 0) << copies.output;
  EXPECT_NE(copies.output.find("left out '" + b + "': It is the same run as '" + a + "', which counts once."),
      std::string::npos)
      << copies.output;
  EXPECT_NE(copies.output.find("n=2+1"), std::string::npos) << copies.output;
  EXPECT_NE(copies.output.find("'" + c + "' in B is the same run as '" + c + "' in A"), std::string::npos);
}

TEST_F(ReportProgram, Refusals_OneSentenceAndRemedy) {
  std::string text = result::result_text(toy_record());
  test::write_text(folder_ / "cut.json", text.substr(0, text.size() / 2));
  std::string edited = text;
  edited.replace(edited.find("0.52,"), 4, "0.92");
  test::write_text(folder_ / "edited.json", edited);
  std::string other = text;
  other.replace(other.find("\"schema_version\": 1"), 19, "\"schema_version\": 9");
  test::write_text(folder_ / "other.json", other);
  const auto expect = [&](const std::string& arguments, int code, const std::string& part) {
    const auto r = report(arguments);
    EXPECT_EQ(r.status, code) << r.output;
    EXPECT_NE(r.output.find(part), std::string::npos) << r.output;
    EXPECT_EQ(std::count(r.output.begin(), r.output.end(), '\n'), 1) << r.output;
  };
  const std::string base = folder_.path().string() + "/";
  expect(base + "cut.json", 3, "cut.json' is not JSON: it ends too early");
  expect(base + "edited.json", 3, "edited.json' does not match its content_sha256: it was edited");
  expect(base + "other.json", 3, "schema version 9, this program reads version 1. Use the report of the newer build");
  expect(base + "none.json", 2, "Cannot read");
  expect("", 2, "report --help");
  expect("acuracy " + base + "cut.json", 2,
      "'acuracy' is neither a file nor a command. The nearest command is 'accuracy'");
  expect(base + "cut.json " + base + "cut.json", 2, "report --help");
}

// Whatever names a machine takes the user's name of it.
TEST_F(ReportProgram, Label_NamesMachineInEveryReport) {
  const std::string results = TTT_SOURCE_DIR "/results/", mine = results + "xeon-avx512-2cores",
                    runs = mine + "/2026-11-21_ttt_maskrcnn_6fedf12611/", page = (folder_ / "p").string(),
                    other = results + "epyc-avx512-2cores/2026-11-25_ttt_maskrcnn_56d4b83/";
  const std::string label = " --width 200 --label '" + mine + "=Rack 7'";
  for (const std::string& command :
      {"show " + runs + "1.json", "compare " + runs + "1.json " + other + "1.json", "compare " + runs + " -- " + other,
          "compare " + runs + "1.json " + results + "published/mlperf_v3.0_maskrcnn.json",
          "machines " + runs + " " + other, "history " + runs, "score " + runs + "1.json " + runs + "2.json",
          "accuracy " + runs + "1.json", "ablations " + mine + "/2026-11-22_ablate_90efab6"}) {
    const auto r = report(command + label);
    EXPECT_NE(r.output.find("Rack 7"), std::string::npos) << command << "\n" << r.output;
  }
  RunRecord small = toy_record();
  small.system["world_size"] = 1, small.built["global_batch"] = 2;
  RunRecord large = small;
  large.system["world_size"] = 2;
  result::write_result(folder_ / "1.json", small), result::write_result(folder_ / "2.json", large);
  EXPECT_NE(report("scaling " + (folder_ / "1.json").string() + " " + (folder_ / "2.json").string() + " --label X9")
                .output.find("1 rank of X9."),
      std::string::npos);
  const std::string as_page = " --label '" + mine + "=Rack 7' --out " + page;
  ASSERT_EQ(report("html " + runs + as_page + ".html").status, 0);
  ASSERT_EQ(report("pictures " + runs + " " + other + as_page).status, 0);
  for (const std::string& file : {page + ".html", page + "/time_to_target.svg"})
    EXPECT_NE(test::read_text(file).find("Rack 7"), std::string::npos) << file;
  EXPECT_EQ(report("machines " + runs + " " + other + " --label elsewhere=X").status, 2);
}

TEST_F(ReportProgram, EveryCommandHasAnExample) {
  const std::string all = report("--help").output;
  for (const char* command : {"show", "ablations", "compare", "machines", "score", "bench", "html", "scaling",
           "accuracy", "timeline", "telemetry", "follow", "recover"}) {
    EXPECT_NE(all.find(std::string("\n  ") + command), std::string::npos) << all;
    EXPECT_NE(
        report(std::string(command) + " --help").output.find("report " + std::string(command) + " "), std::string::npos)
        << command;
    EXPECT_NE(report(std::string(command) + " --help").output.find("Example: "), std::string::npos) << command;
  }
}

// One run without a trace does not cost the report of those after it, and the exit code tells.
TEST_F(ReportProgram, RunWithoutTrace_TimelineContinues) {
  RunRecord traced = toy_record(), ended = toy_record();
  traced.trace = test::toy_trace();
  ended.recipe.settings["train"] = {{"trace_steps", 20}};
  ended.verdict = result::Verdict::kFailed;
  const std::string base = folder_.path().string() + "/";
  result::write_result(base + "none.json", toy_record());
  result::write_result(base + "ended.json", ended);
  result::write_result(base + "first.json", traced);
  traced.run_id = "another";
  result::write_result(base + "second.json", traced);
  const auto r = report("timeline --width 300 " + base + "none.json " + base + "ended.json " + base + "first.json " +
                        base + "second.json");
  EXPECT_EQ(r.status, 2);
  EXPECT_NE(line_with(r.output, "none.json'").find("none was asked for"), std::string::npos) << r.output;
  EXPECT_NE(
      line_with(r.output, "ended.json'").find("train.trace_steps = 20 asked for one: the run (failed) ended before"),
      std::string::npos)
      << r.output;
  for (const char* name : {"first.json", "second.json"})
    EXPECT_NE(r.output.find("\n" + base + name + "\n---"), std::string::npos) << r.output;
  // As one document: the rows of a CSV say whose they are, and Markdown's headings stand alone.
  const std::string files = base + "first.json " + base + "second.json";
  const std::string second = "timeline --format csv --table " + base + "second.json " + files;
  EXPECT_NE(report(second).output.find("\r\n" + base + "second.json,0,0.5,"), std::string::npos)
      << report(second).output;
  EXPECT_NE(
      report("timeline --format md " + files).output.find("\n\n## " + base + "second.json\n\n"), std::string::npos);
  EXPECT_EQ(report("timeline " + base + "none.json").status, 2);
  const auto both = report("timeline --format csv --out " + base + "trace.json " + files);
  EXPECT_EQ(both.status, 2);
  EXPECT_NE(both.output.find("Leave out either."), std::string::npos) << both.output;
  EXPECT_EQ(report("timeline --out " + base + "trace.json " + files + " " + base + "none.json").status, 2);
  EXPECT_TRUE(std::filesystem::exists(base + "trace.json"));
}

TEST_F(ReportProgram, RecoversAKilledRun) {
  {
    result::RunRecord killed = toy_record();
    killed.verdict = result::Verdict::kNotRun;
    result::RunRecorder recorder(killed);
    recorder.start_journal(folder_ / "a.json.journal", 0);
    recorder.step(test::toy_step(0));
  }
  const std::string journal = (folder_ / "a.json.journal").string(), out = (folder_ / "a.json").string();
  EXPECT_EQ(report("recover " + journal + " --out " + out).output,
      "Recovered 1 steps and 0 evaluations into '" + out + "'.\n");
  EXPECT_EQ(report(out).status, 0);
  EXPECT_EQ(report("recover " + journal + " --out " + out).status, 2);  // it exists now
  EXPECT_EQ(report("recover " + folder_.path().string() + " --out " + out).status, 2);
}

}  // namespace
}  // namespace ttt::reports
