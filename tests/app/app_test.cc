// Whole lives of a program, as a shell sees them: exit code, one sentence, the result that is left.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "core/temp_folder.h"
#include "result/journal.h"
#include "result/result_file.h"
#include "tests/support/python.h"

namespace ttt::harness {
namespace {

namespace fs = std::filesystem;
using result::RunRecord;
using result::Verdict;
using test::CommandResult;
using test::run_command;

class App : public testing::Test {
 protected:
  fs::path out() { return folder_ / "out/r.json"; }
  fs::path journal() { return result::journal_folder(out()); }
  void SetUp() override { fs::create_directory(folder_ / "out"); }

  CommandResult toy(const std::string& arguments) {
    return run_command(std::string(TTT_TOY_APP " --out ") + out().string() + " " + arguments + " 2>&1");
  }

  // Under mpirun; its own messages come too, so the caller looks for a sentence. `patience`: NAME=VALUE that lengthens
  // a limit where another test may have the processor for seconds.
  CommandResult toys(int ranks, const std::string& arguments, const std::string& patience = "") {
    const fs::path share = folder_ / "share";
    fs::remove_all(share);
    fs::create_directory(share);
    return run_command(patience + " TOY_SHARE=" + share.string() +
                       " OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 timeout 25 " TTT_MPIEXEC
                       " --oversubscribe -n " +
                       std::to_string(ranks) + " " TTT_TOY_APP " --out " + out().string() + " " + arguments + " 2>&1");
  }
  // The first line and the last one, each once.
  static void expect_framed(const std::string& output, const std::string& verdict) {
    const auto count = [&](const std::string& text) {
      int n = 0;
      for (std::size_t at = 0; (at = output.find(text, at)) != std::string::npos; at += text.size()) ++n;
      return n;
    };
    EXPECT_EQ(count("TTT output 1: toy, recipe default, "), 1) << output;
    EXPECT_EQ(count("TTT verdict: "), 1) << output;
    EXPECT_EQ(count("TTT verdict: " + verdict + "\n"), 1) << output;
  }
  RunRecord record() { return result::read_result(out()); }
  std::vector<std::string> left() {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_ / "out")) names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }
  TempFolder folder_;
};

TEST_F(App, PassedRun_LeavesOnlyItsResult) {
  const CommandResult r = toy("--quiet --seed 5 --set steps=3");
  EXPECT_EQ(r.status, 0);
  expect_framed(r.output, "passed");
  EXPECT_TRUE(r.output.ends_with("TTT verdict: passed\n")) << r.output;
  EXPECT_EQ(left(), std::vector<std::string>{"r.json"});
  EXPECT_EQ(record().verdict, Verdict::kPassed);
  EXPECT_EQ(record().steps.size(), 3u);
  EXPECT_EQ(record().recipe.settings.at("seed"), 5);
  EXPECT_EQ(record().recipe.changes.size(), 2u);
  EXPECT_EQ(record().system.at("world_size"), 1);
}

TEST_F(App, ExitCodesVerdictsAndReasons) {
  struct Case {
    const char *mode, *sentence;
    int code;
    Verdict verdict;
  };
  for (const Case& c : {Case{"throw", "shard_003.h5 is truncated. Pack it again.", 3, Verdict::kFailed},
           Case{"nan", "The loss is not finite in step 4. Lower solver.lr.", 5, Verdict::kIncorrect},
           Case{"unsupported", "No GPU here. Use --device cpu.", 4, Verdict::kNotSupported},
           Case{"bug", "Unexpected error: first line", 1, Verdict::kFailed}}) {
    const CommandResult r = toy(std::string("--force --quiet --set mode=") + c.mode);
    EXPECT_EQ(r.status, c.code);
    EXPECT_NE(r.output.find(std::string("toy: ") + c.sentence + "\n"), std::string::npos) << r.output;
    expect_framed(r.output, std::string(result::verdict_name(c.verdict)));
    EXPECT_EQ(record().verdict, c.verdict);
    EXPECT_EQ(record().reason, c.sentence);
    EXPECT_GE(record().steps.size(), 4u);
  }
  EXPECT_EQ(toy("--force --quiet --set mode=not_converged").status, 6);
  EXPECT_EQ(record().verdict, Verdict::kNotConverged);
}

TEST_F(App, WrongCommandLine_WritesNothing) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"--sedd 4", "toy: Unknown argument '--sedd'. The nearest is '--seed'; --help lists all.\n"},
      {"--seed four", "toy: "},
      {"--set 'steps=4\n5'", "toy: --set steps=4\\x0a5: 'steps' expects an integer, found '4\\x0a5'.\n"},
      {"--print-recipe --set mode=slow --set steps=0",
          "toy: 'mode' slow contradicts 'steps' 0. Change one of the two.\n"},
      {"--inject rank=0,step=1,kind=kill", "toy: Unknown argument '--inject'."},
      {"stray",
          "toy: Unexpected argument 'stray'. Settings are given as --set key=value; --help lists all arguments.\n"},
      {"--set step=4", "toy: --set step=4: Unknown key 'step'. The nearest is 'steps'; --print-recipe lists all.\n"},
      {"--seed 1 --set seed=2", "toy: --seed 1: 'seed' is given twice on the command line. Give it once.\n"},
      {"--device gpu", "toy: "},
      {"--recipe quik",
          "toy: There is no recipe 'quik', neither a file nor a name. The nearest is 'quick'; there are: default "
          "quick.\n"},
      {"--set mode=slow --set steps=0", "toy: 'mode' slow contradicts 'steps' 0. Change one of the two.\n"},
  };
  for (const auto& [arguments, expected] : cases) {
    const CommandResult r = toy(arguments);
    EXPECT_EQ(r.status, 2) << arguments;
    EXPECT_EQ(r.output.substr(0, expected.size()), expected) << arguments;
    EXPECT_EQ(std::count(r.output.begin(), r.output.end(), '\n'), 1) << r.output;
  }
  EXPECT_TRUE(left().empty());
}

// Found by the run itself, after its result was reserved: nothing is left, on one rank and on two.
TEST_F(App, RefusedRun_LeavesNothing) {
  const std::string sentence = "There is no ablation 'nosuch'. Name one that --list shows.";
  const CommandResult alone = toy("--quiet --set mode=refuse");
  EXPECT_EQ(alone.status, 2);
  EXPECT_EQ(alone.output, "toy: " + sentence + "\n");
  EXPECT_TRUE(left().empty());
  const CommandResult two = toys(2, "--quiet --set mode=refuse");
  EXPECT_EQ(two.status, 2);
  EXPECT_NE(two.output.find(sentence), std::string::npos) << two.output;
  EXPECT_TRUE(left().empty());
}

TEST_F(App, MissingResultFolder_IsMade) {
  fs::remove(folder_ / "out");
  EXPECT_EQ(toy("--quiet").status, 0);
  EXPECT_EQ(record().verdict, Verdict::kPassed);
}

// The hint of a wrong --set names a setting that exists, with a value that it takes.
TEST_F(App, SetWithoutValue_HintIsAccepted) {
  const std::string output = toy("--set steps").output, before = "Write for example ";
  const std::size_t begin = output.find(before) + before.size();
  const CommandResult hinted = toy("--quiet " + output.substr(begin, output.rfind('.') - begin));
  EXPECT_EQ(hinted.status, 0) << output << hinted.output;
}

TEST_F(App, PrintRecipeReadsBack) {
  const CommandResult printed = toy("--print-recipe --set steps=17");
  EXPECT_EQ(printed.status, 0);
  test::write_text(folder_ / "r.toml", printed.output);
  EXPECT_EQ(toy("--print-recipe --recipe " + (folder_ / "r.toml").string()).output, printed.output);
  EXPECT_EQ(toy("--quiet --recipe " + (folder_ / "r.toml").string()).status, 0);
  EXPECT_EQ(record().recipe.settings.at("steps"), 17);
}

TEST_F(App, EmbeddedRecipe_IsReadByName) {
  EXPECT_EQ(toy("--quiet --recipe quick --seed 3").status, 0);
  EXPECT_EQ(record().recipe.name, "quick");
  EXPECT_EQ(record().recipe.settings.at("steps"), 2);
  // What the command line changed, not what the recipe says.
  const std::string seed = R"({"key": "seed", "default": 1, "value": 3})";
  EXPECT_EQ(record().recipe.changes, result::Json::parse("[" + seed + "]"));
  EXPECT_EQ(record().recipe.against_defaults,
      result::Json::parse("[" + seed + R"(, {"key": "steps", "default": 8, "value": 2}])"));
}

TEST_F(App, HelpAndVersionEndWithZero) {
  EXPECT_NE(toy("--help").output.find("--print-recipe"), std::string::npos);
  EXPECT_EQ(toy("--version").status, 0);
  EXPECT_EQ(toy("--version").output.substr(0, 4), "toy ");
}

TEST_F(App, ExistingResult_IsRefusedAtStart) {
  EXPECT_EQ(toy("--quiet").status, 0);
  const std::string before = test::read_text(out());
  const CommandResult again = toy("--quiet");
  EXPECT_EQ(again.status, 2);
  EXPECT_NE(again.output.find("exists already. Replace it with --force"), std::string::npos);
  EXPECT_EQ(test::read_text(out()), before);
  EXPECT_EQ(toy("--quiet --force").status, 0);
  EXPECT_NE(test::read_text(out()), before);
}

TEST_F(App, SamePath_SecondRunIsRefused) {
  std::thread first([&] { EXPECT_EQ(toy("--quiet --set step_s=0.2").status, 0); });
  while (!fs::exists(journal())) ::usleep(10'000);
  const CommandResult second = toy("--quiet --force");
  EXPECT_EQ(second.status, 2);
  EXPECT_NE(second.output.find("Another run is writing"), std::string::npos) << second.output;
  first.join();
  EXPECT_EQ(record().steps.size(), 8u);
}

TEST_F(App, VanishedFolder_ResultIsSavedElsewhere) {
  const CommandResult r =
      run_command("TMPDIR=" + folder_.path().string() + " " TTT_TOY_APP " --quiet --set mode=remove_folder --out " +
                  out().string() + " 2>&1");
  EXPECT_EQ(r.status, 1);
  const std::size_t at = r.output.find("saved as '");
  ASSERT_NE(at, std::string::npos) << r.output;
  const std::string saved = r.output.substr(at + 10, r.output.find('\'', at + 10) - at - 10);
  EXPECT_EQ(result::read_result(saved).verdict, Verdict::kPassed);
}

// Neither the result's folder nor the one for what cannot be saved there exists.
TEST_F(App, UnsavedFailure_StillEndsInVerdict) {
  const CommandResult r = run_command("TMPDIR=/nowhere " TTT_TOY_APP " --quiet --set mode=lost --out " +
                                      out().string() + " 2>&1 >" + (folder_ / "../lost.out").string());
  EXPECT_NE(r.status, 0);
  EXPECT_NE(r.output.find("toy: A number is wrong."), std::string::npos) << r.output;
  expect_framed(test::read_text(folder_ / "../lost.out"), "incorrect");
  fs::remove(folder_ / "../lost.out");
}

TEST_F(App, EarlyFailure_HasBothEnds) {
  const CommandResult r = toy("--quiet --set mode=early");
  EXPECT_EQ(r.status, 1);
  expect_framed(r.output.substr(r.output.find("TTT output")), "failed");
}

// Starts the toy, sends `signals` 0.7 s apart once it runs, returns its exit code (128 + n for a signal).
int signal_toy(const std::vector<std::string>& arguments, const fs::path& journal, const std::vector<int>& signals) {
  const pid_t child = ::fork();
  if (child == 0) {
    std::vector<char*> argv = {const_cast<char*>(TTT_TOY_APP)};
    for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
    argv.push_back(nullptr);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  const fs::path file = journal / "rank00000.jsonl";
  while (!fs::exists(file) || test::read_text(file).find("\"step\":4") == std::string::npos) ::usleep(10'000);
  for (const int s : signals) {
    ::kill(child, s);
    ::usleep(700'000);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST_F(App, Signal_LeavesReadableResult) {
  for (const int s : {SIGINT, SIGTERM}) {
    EXPECT_EQ(
        signal_toy({"--quiet", "--force", "--out", out().string(), "--set", "step_s=0.05", "--set", "steps=10000"},
            journal(), {s}),
        130);
    const RunRecord r = record();
    EXPECT_EQ(r.verdict, Verdict::kFailed);
    EXPECT_TRUE(r.reason.starts_with(std::string("Interrupted by ") + (s == SIGINT ? "SIGINT" : "SIGTERM")))
        << r.reason;
    EXPECT_GE(r.steps.size(), 4u);
    fs::remove_all(journal());
  }
}

// An interruption that was asked for is no error: it is said once, on stdout.
TEST_F(App, InterruptedRun_SaysSoOnce) {
  const CommandResult r = run_command("timeout --preserve-status -s INT 1 " TTT_TOY_APP
                                      " --quiet --set step_s=0.05 --set steps=10000 --out " +
                                      out().string() + " 2>" + (folder_ / "stderr").string());
  EXPECT_EQ(r.status, 130);
  EXPECT_NE(r.output.find("\nINTERRUPTED by SIGINT after step "), std::string::npos) << r.output;
  expect_framed(r.output, "failed");
  EXPECT_EQ(test::read_text(folder_ / "stderr"), "");
}

// The main thread hangs: the watchdog writes the result, the second signal ends the process at once.
TEST_F(App, HangingRun_AnswersASignal) {
  EXPECT_EQ(signal_toy({"--quiet", "--out", out().string(), "--set", "mode=hang"}, journal(), {SIGTERM, SIGTERM}),
      128 + SIGTERM);
  const RunRecord r = record();
  EXPECT_EQ(r.verdict, Verdict::kFailed);
  EXPECT_EQ(r.reason, "SIGTERM ended the run while it was in the step after step 4.");
  EXPECT_EQ(r.steps.size(), 5u);
}

TEST_F(App, HangingRun_NamesOtherRanksState) {
  signal_toy({"--quiet", "--out", out().string(), "--set", "mode=witness"}, journal(), {SIGTERM, SIGTERM});
  EXPECT_EQ(record().reason, "SIGTERM ended the run while it was in the step after step 4. Rank 7 is silent.");
}

// Another thread ends a run that hangs.
TEST_F(App, AWatchdogEndsTheRun) {
  const CommandResult r = toy("--quiet --set mode=give_up");
  EXPECT_EQ(r.status, 1);
  EXPECT_NE(r.output.find("toy: No rank has made progress. Look at rank 7.\n"), std::string::npos) << r.output;
  expect_framed(r.output, "failed");
  EXPECT_EQ(record().verdict, Verdict::kFailed);
  EXPECT_EQ(record().reason, "No rank has made progress. Look at rank 7.");
  EXPECT_EQ(record().steps.size(), 5u);
  const CommandResult ranks = toys(3, "--quiet --force --set mode=give_up --set rank=1");
  EXPECT_NE(ranks.status, 0);
  EXPECT_NE(ranks.output.find("toy: rank 1 of 3: No rank has made progress"), std::string::npos) << ranks.output;
  EXPECT_EQ(record().reason, "No rank has made progress. Look at rank 7.");
}

TEST_F(App, KilledRun_IsRecoveredFromJournal) {
  EXPECT_EQ(toy("--quiet --set mode=kill").status, 128 + SIGKILL);
  EXPECT_FALSE(fs::exists(out()));
  const RunRecord r = result::recover_run(journal());
  EXPECT_EQ(r.verdict, Verdict::kFailed);
  EXPECT_EQ(r.steps.size(), 5u);
  EXPECT_EQ(r.recipe.settings.at("mode"), "kill");
  EXPECT_EQ(toy("--quiet").status, 0);  // the name is free again
}

TEST_F(App, RanksShareOneResult) {
  const CommandResult r = toys(4, "--quiet");
  EXPECT_EQ(r.status, 0) << r.output;
  expect_framed(r.output, "passed");
  EXPECT_EQ(left(), std::vector<std::string>{"r.json"});
  EXPECT_EQ(record().system.at("nodes").at(0).at("ranks").size(), 4u);
}

TEST_F(App, OneFailingRankSpeaksAndWrites) {
  const CommandResult r = toys(3, "--quiet --set mode=throw --set rank=2");
  EXPECT_EQ(r.status, 3) << r.output;
  EXPECT_NE(r.output.find("toy: rank 2 of 3: shard_003.h5 is truncated. Pack it again."), std::string::npos)
      << r.output;
  EXPECT_EQ(record().verdict, Verdict::kFailed);
  expect_framed(r.output, "failed");
  EXPECT_EQ(record().reason, "Rank 2 (after step 4): shard_003.h5 is truncated. Pack it again.");
}

TEST_F(App, CommonError_IsPrintedOnce) {
  const CommandResult r = toys(4, "--quiet --set mode=all_throw", "TOY_GRACE_S=15");
  EXPECT_EQ(r.status, 3) << r.output;
  const std::size_t first = r.output.find("All ranks see this");
  EXPECT_NE(first, std::string::npos);
  EXPECT_EQ(r.output.find("All ranks see this", first + 1), std::string::npos) << r.output;
  EXPECT_EQ(record().reason, "Rank 0 (after step 4): All ranks see this. Do something.");
}

// Whichever rank dies, the launcher's SIGTERM makes a living one write the result.
TEST_F(App, OneKilledRank_LeavesReadableResult) {
  for (const int rank : {0, 1}) {
    const CommandResult r = toys(2, "--quiet --force --set mode=kill --set rank=" + std::to_string(rank),
        "OMPI_MCA_odls_base_sigkill_timeout=4");
    EXPECT_NE(r.status, 0);
    EXPECT_EQ(record().verdict, Verdict::kFailed) << rank;
    EXPECT_NE(record().reason.find("ended the run while it was in the step after step 4"), std::string::npos)
        << record().reason;
    EXPECT_EQ(record().steps.size(), 5u);
    EXPECT_TRUE(fs::exists(journal() / "rank00000.jsonl"));
    fs::remove_all(journal());
  }
}

}  // namespace
}  // namespace ttt::harness
