// Results on disk: whole or not at all, never lost, never overwritten, edits found.
#include "result/result_file.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/error.h"
#include "core/temp_folder.h"
#include "result/figures.h"
#include "result/techniques.h"
#include "tests/support/message_of.h"
#include "tests/support/python.h"
#include "tests/support/toy_record.h"

namespace ttt::result {
namespace {

namespace fs = std::filesystem;
using test::message_of;
using test::read_text;
using test::toy_record;
using test::write_text;

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

TEST(ResultFile, Written_LeavesNothingElse) {
  TempFolder folder;
  const RunRecord record = toy_record();  // of one moment: it holds the time of its making
  {
    const Reservation reservation(folder / "a.json", false);
    EXPECT_TRUE(write_result(folder / "a.json", record));
  }
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"a.json"});
  EXPECT_EQ(to_json(read_result(folder / "a.json")), to_json(record));
}

const fs::path kResults = fs::path(TTT_SOURCE_DIR) / "results";

// The example of docs/fom.md is what a published result says.
TEST(ResultFile, PublishedRun_SaysDocumentedLines) {
  const RunRecord record = read_result(kResults / "xeon-avx512-2cores/2026-11-21_ttt_maskrcnn_6fedf12611/1.json");
  std::string lines = "    " + headline(record) + "\n";
  for (const Figure& f : figures_of(record)) lines += "    " + figure_line(f) + "\n";
  EXPECT_NE(read_text(fs::path(TTT_SOURCE_DIR) / "docs/fom.md").find(lines), std::string::npos) << lines;
}

// The numbers beside kQuiet.
TEST(ResultFile, PublishedComparisons_DisturbedOnBusyMachine) {
  const auto half_widths = [](const char* file) {
    std::vector<double> widths;
    for (const Comparison& c : read_result(kResults / file).comparisons)
      if (const auto e = measured_effect(c)) widths.push_back((e->high - e->low) / 2);
    std::sort(widths.rbegin(), widths.rend());
    return widths;
  };
  const auto quiet = half_widths("epyc-avx512-2cores/2026-11-23_ablate_e92fd04/all.json"),
             busy = half_widths("xeon-avx512-2cores/2026-11-23_ablate_950afdc/all.json");
  ASSERT_EQ(quiet.size(), 46u);
  ASSERT_EQ(busy.size(), 46u);
  EXPECT_NEAR(quiet[0], 0.036, 0.0005);
  EXPECT_GT(busy[16], kQuiet);
  EXPECT_LT(busy[17], kQuiet);
}

// The command that results/README.md gives, by tools that we did not write.
TEST(ResultFile, ContentHashEqualsSha256sum) {
  TempFolder folder;
  write_result(folder / "a.json", toy_record());
  const auto sum = test::run_command("sed -E 's/(\"content_sha256\": \")[0-9a-f]{64}/\\1" + std::string(64, '0') +
                                     "/' " + (folder / "a.json").string() + " | sha256sum");
  EXPECT_EQ(sum.output.substr(0, 64), Json::parse(read_text(folder / "a.json")).at("content_sha256"));
}

TEST(ResultFile, SatisfiesTheSchema) {
  TTT_NEED_PYTHON("jsonschema");
  TempFolder folder;
  RunRecord r = toy_record();
  write_result(folder / "passed.json", r);
  r.verdict = Verdict::kFailed;
  r.target.reset();
  r.steps.truncate(0);
  r.accuracy.clear();
  r.non_finite.push_back({3, "loss.mask", "nan"});
  write_result(folder / "failed.json", r);
  write_result(folder / "ablation.json", test::toy_ablation());
  write_result(folder / "roofline.json", test::toy_roofline());
  write_result(folder / "resumed.json", test::toy_resumed());
  write_result(folder / "preflight.json", test::toy_preflight());
  for (const char* name :
      {"passed.json", "failed.json", "ablation.json", "roofline.json", "resumed.json", "preflight.json"}) {
    const auto check = test::run_command(test::python() +
                                         " " TTT_SOURCE_DIR "/tests/support/check_schema.py " TTT_SOURCE_DIR
                                         "/results/schema-v1.json " +
                                         (folder / name).string() + " 2>&1");
    EXPECT_EQ(check.status, 0) << check.output;
  }
}

TEST(ResultFile, PublishedResults_SatisfyTheSchema) {
  TTT_NEED_PYTHON("jsonschema");
  const auto check = test::run_command("grep -rl '\"schema_version\"' --include=*.json " TTT_SOURCE_DIR
                                       "/results |"
                                       " grep -v schema-v1.json | xargs " +
                                       test::python() +
                                       " " TTT_SOURCE_DIR "/tests/support/check_schema.py " TTT_SOURCE_DIR
                                       "/results/schema-v1.json 2>&1");
  EXPECT_EQ(check.status, 0) << check.output;
}

// As `report schema` prints it.
TEST(ResultFile, PublishedSchema_IsGenerated) {
  EXPECT_EQ(read_text(TTT_SOURCE_DIR "/results/schema-v1.json"), dump(result_schema()) + "\n");
}

// The schema must be able to say no: every member is removed once, every scalar given another type once.
TEST(ResultFile, Schema_RefusesMissingOrWrongType) {
  TTT_NEED_PYTHON("jsonschema");
  TempFolder folder;
  RunRecord traced = toy_record();
  traced.trace = test::toy_trace(1);
  traced.telemetry = test::toy_telemetry(2);
  traced.health.replica_checks = {100, 2, 800, 0.5, 0.75};
  traced.health.stragglers = {4, 2, 1.5, {{1, "0123456789ab", 1, 4, 7, 1.75}}};
  traced.health.gpus = test::toy_gpus(), traced.health.profile = test::toy_profile();
  traced.health.watchdog = {300, 0.125, 0.25};
  traced.injected = {"rank=1,step=4,kind=slow,ms=100"};
  for (const RunRecord& r :
      {traced, test::toy_ablation(), test::toy_roofline(), test::toy_resumed(), test::toy_preflight()}) {
    write_result(folder / "a.json", r, {.force = true});
    const auto check = test::run_command(test::python() +
                                         " " TTT_SOURCE_DIR "/tests/support/check_schema.py --mutate " TTT_SOURCE_DIR
                                         "/results/schema-v1.json " +
                                         (folder / "a.json").string() + " 2>&1");
    EXPECT_EQ(check.status, 0) << check.output;
  }
}

// A run that may resume replaces a failed result, and nothing else is replaced.
TEST(Reservation, FailedResult_IsKeptUntilComplete) {
  TempFolder folder;
  const fs::path path = folder / "a.json";
  RunRecord r = test::toy_resumed();
  write_result(path, r);
  EXPECT_NE(
      message_of([&] { Reservation(path, false, /*may_resume=*/false); }).find("exists already"), std::string::npos);
  {
    Reservation reservation(path, false, /*may_resume=*/true);
    EXPECT_FALSE(fs::exists(path));  // no rank may take it for this process's last word
    EXPECT_EQ(to_json(read_result(path.string() + ".earlier")), to_json(r));
    r.verdict = Verdict::kPassed;
    EXPECT_TRUE(write_result(path, r));
    reservation.complete();
  }
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"a.json"});
  // it has ended
  EXPECT_NE(
      message_of([&] { Reservation(path, false, /*may_resume=*/true); }).find("exists already"), std::string::npos);
}

// What kills at any moment leave on the disk: a result, one that was set aside, or both; a lock; a half-written file.
TEST(Reservation, AnyStateAfterKills_IsAccepted) {
  for (const bool result : {false, true})
    for (const bool earlier : {false, true})
      for (const bool rest : {false, true}) {
        TempFolder folder;
        const fs::path path = folder / "a.json";
        RunRecord r = test::toy_resumed();
        if (result) write_result(path, r);
        if (earlier) write_result(folder / "a.json.earlier", r);
        if (rest) test::write_text(folder / "a.json.lock", ""), test::write_text(folder / "a.json.tmp", "{");
        {
          Reservation reservation(path, false, /*may_resume=*/true);
          EXPECT_FALSE(fs::exists(path));
          r.run_id = "another id: nothing was saved before the kill";
          r.verdict = Verdict::kPassed;
          EXPECT_TRUE(write_result(path, r));
          reservation.complete();
        }
        EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"a.json"});
      }
}

TEST(Reservation, Withdrawn_LeavesTheDiskUnchanged) {
  TempFolder folder;
  const fs::path path = folder / "a.json";
  write_result(path, test::toy_resumed());
  Reservation(path, false, /*may_resume=*/true).withdraw();
  Reservation(folder / "new/folder/b.json", false).withdraw();
  EXPECT_EQ(names_in(folder.path()), (std::vector<std::string>{"a.json", "new"}));
  EXPECT_EQ(names_in(folder / "new"), std::vector<std::string>{});
}

TEST(ResultFile, PassedWithoutReachingTarget_IsRefused) {
  RunRecord r = test::toy_record();
  EXPECT_NO_THROW(parse_result(result_text(r), "r.json"));
  r.accuracy.back().metrics[0].value = 0;
  EXPECT_NE(
      message_of([&] { parse_result(result_text(r), "r.json"); }).find("says passed, but none of its evaluations"),
      std::string::npos);
}

// Every truncation and every changed byte, in a small result (a prime stride keeps it quick).
TEST(ResultFile, TruncatedOrEdited_IsDataError) {
  TempFolder folder;
  const std::string text = result_text(toy_record());
  for (std::size_t size = 0; size + 1 < text.size(); size += 131) {
    write_text(folder / "cut.json", text.substr(0, size));
    ASSERT_THROW(read_result(folder / "cut.json"), DataError) << size;
  }
  for (std::size_t at = 0; at < text.size(); at += 37) {
    std::string edited = text;
    edited[at] = edited[at] == '1' ? '2' : '1';
    write_text(folder / "edited.json", edited);
    ASSERT_THROW(read_result(folder / "edited.json"), DataError) << at << " " << text.substr(at, 20);
  }
  write_text(folder / "whole.json", text);
  EXPECT_NO_THROW(read_result(folder / "whole.json"));
}

TEST(ResultFile, Messages_NameFileAndRemedy) {
  TempFolder folder;
  std::string text = result_text(toy_record());
  const std::size_t at = text.find("0.52");
  write_text(folder / "edited.json", text.replace(at, 4, "0.62"));
  const std::string edited = message_of([&] { read_result(folder / "edited.json"); });
  EXPECT_NE(edited.find("edited.json' does not match its content_sha256"), std::string::npos) << edited;
  write_text(folder / "other.json", "{\"a\": 1}");
  EXPECT_NE(
      message_of([&] { read_result(folder / "other.json"); }).find("not a result of this suite"), std::string::npos);
  EXPECT_THROW(read_result(folder / "none.json"), UsageError);
  EXPECT_THROW(read_result(folder.path()), UsageError);
}

TEST(Reservation, RefusesAnExistingResultUnlessForced) {
  TempFolder folder;
  write_text(folder / "a.json", "old");
  const std::string refused = message_of([&] { Reservation(folder / "a.json", false); });
  EXPECT_NE(refused.find("exists already. Replace it with --force"), std::string::npos) << refused;
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"a.json"});
  const Reservation forced(folder / "a.json", true);
  EXPECT_EQ(read_text(folder / "a.json"), "old");  // stays until the new one is whole
  EXPECT_TRUE(write_result(folder / "a.json", toy_record(), {.force = true}));
  EXPECT_EQ(read_result(folder / "a.json").run_id, toy_record().run_id);
}

TEST(Reservation, SamePathForced_IsRefused) {
  TempFolder folder;
  const Reservation first(folder / "a.json", false);
  for (const bool force : {false, true}) {
    const std::string refused = message_of([&] { Reservation(folder / "a.json", force); });
    EXPECT_NE(refused.find("Another run is writing"), std::string::npos) << refused;
  }
  EXPECT_NO_THROW(Reservation(folder / "b.json", false));
}

TEST(Reservation, KilledOwner_DoesNotCount) {
  TempFolder folder;
  const pid_t child = ::fork();
  if (child == 0) {
    const Reservation held(folder / "a.json", false);
    write_text(folder / "a.json.tmp", "half");
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  ASSERT_TRUE(fs::exists(folder / "a.json.lock"));
  const Reservation mine(folder / "a.json", false);
  EXPECT_TRUE(write_result(folder / "a.json", toy_record()));  // its half-written file is not in the way
}

// Sixteen processes at once: exactly one may have the path.
TEST(Reservation, OneOfManyWins) {
  TempFolder folder;
  int go[2], done[2];
  ASSERT_EQ(::pipe(go), 0);
  ASSERT_EQ(::pipe(done), 0);
  std::vector<pid_t> children;
  for (int i = 0; i < 16; ++i) {
    children.push_back(::fork());
    if (children.back() != 0) continue;
    ::close(go[1]), ::close(done[1]);
    char byte;
    static_cast<void>(!::read(go[0], &byte, 1));  // returns when the parent closes its end
    int code = 1;
    try {
      const Reservation r(folder / "a.json", false);
      code = 0;
      static_cast<void>(!::read(done[0], &byte, 1));
    } catch (const UsageError&) {}
    ::_exit(code);
  }
  ::close(go[1]);
  ::usleep(300'000);
  ::close(done[1]);
  int winners = 0;
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    winners += WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  ::close(go[0]), ::close(done[0]);
  EXPECT_EQ(winners, 1);
}

TEST(Reservation, MissingFolder_IsNamed) {
  const std::string text = message_of([] { Reservation("/proc/no/such/a.json", false); });
  EXPECT_NE(text.find("/proc/no/such/a.json"), std::string::npos);
  EXPECT_NE(text.find("--out"), std::string::npos);
}

TEST(ResultFile, NewerFile_IsNotOverwritten) {
  TempFolder folder;
  ::setenv("TMPDIR", folder.path().c_str(), 1);
  const Reservation mine(folder / "a.json", false);
  write_text(folder / "a.json", "precious");
  const std::string text = message_of([&] { write_result(folder / "a.json", toy_record()); });
  EXPECT_EQ(read_text(folder / "a.json"), "precious");
  const fs::path saved = folder / ("a." + std::to_string(::getpid()) + ".json");
  EXPECT_NE(text.find(saved.string()), std::string::npos) << text;
  EXPECT_EQ(read_result(saved).run_id, toy_record().run_id);
  ::unsetenv("TMPDIR");
}

TEST(ResultFile, TheSameRunReplacesItsOwn) {
  TempFolder folder;
  RunRecord r = toy_record();
  EXPECT_TRUE(write_result(folder / "a.json", r));
  r.reason = "later and whole";
  EXPECT_TRUE(write_result(folder / "a.json", r));
  EXPECT_EQ(read_result(folder / "a.json").reason, "later and whole");
}

TEST(ResultFile, FullDisk_SavesElsewhere) {
  TempFolder folder;
  const fs::path small = folder / "small";
  fs::create_directory(small);
  if (::mount("tmpfs", small.c_str(), "tmpfs", 0, "size=4k") != 0)
    GTEST_SKIP() << "mounting a small file system is not allowed here";
  ::setenv("TMPDIR", folder.path().c_str(), 1);
  const RunRecord record = toy_record();  // one: it holds the moment at which it was made
  const std::string text = message_of([&] { write_result(small / "a.json", record); });
  const std::vector<std::string> left = names_in(small);
  ::umount(small.c_str());
  ::unsetenv("TMPDIR");
  EXPECT_TRUE(left.empty());  // no half-written file
  const fs::path saved = folder / ("a." + std::to_string(::getpid()) + ".json");
  EXPECT_NE(text.find("No space left on device"), std::string::npos) << text;
  EXPECT_NE(text.find(saved.string()), std::string::npos) << text;
  EXPECT_EQ(to_json(read_result(saved)), to_json(record));
}

// No file may grow at all: what is left is stderr, from which the result is taken whole.
TEST(ResultFile, NoDisk_ResultIsPrinted) {
  TempFolder folder;
  const RunRecord record = toy_record();
  int fds[2];
  ASSERT_EQ(::pipe(fds), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(fds[0]);
    ::dup2(fds[1], 2);
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit none{100, 100};
    ::setrlimit(RLIMIT_FSIZE, &none);
    try {
      write_result(folder / "a.json", record);
    } catch (const Error& e) { ::_exit(std::string(e.what()).find("printed above") != std::string::npos ? 0 : 1); }
    ::_exit(2);
  }
  ::close(fds[1]);
  std::string printed;
  char buffer[4096];
  for (ssize_t n; (n = ::read(fds[0], buffer, sizeof buffer)) > 0;) printed.append(buffer, static_cast<std::size_t>(n));
  ::close(fds[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  const std::string begin = "-----BEGIN TTT RESULT-----\n", end = "-----END TTT RESULT-----\n";
  const std::size_t from = printed.find(begin) + begin.size();
  write_text(folder / "saved.json", printed.substr(from, printed.find(end) - from));
  EXPECT_EQ(to_json(read_result(folder / "saved.json")), to_json(record));
}

}  // namespace
}  // namespace ttt::result
