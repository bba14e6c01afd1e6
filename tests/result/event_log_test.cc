// Events, the clocks that are derived from them, and MLPerf's log lines, read back by Python's json.
#include "result/event_log.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "core/temp_folder.h"
#include "result/mllog.h"
#include "tests/support/message_of.h"
#include "tests/support/python.h"
#include "tests/support/toy_record.h"

namespace ttt::result {
namespace {

std::vector<Event> events(const std::vector<std::pair<EventKind, double>>& moments) {
  std::vector<Event> all;
  for (const auto& [kind, at_s] : moments) all.push_back({.kind = kind, .clock_s = at_s});
  return all;
}

TEST(Events, UnknownWord_IsRefused) {
  for (const Event& e : test::toy_events()) {
    const Json json = json_of(e);
    EXPECT_EQ(json_of(record_from_json<Event>(json, "e")), json);
  }
  EXPECT_EQ(test::message_of<DataError>([] {
    record_from_json<Event>({{"event", "lunch"}}, "e");
  }),
      "'e.event' in the result is 'lunch', which this program does not know. Take the original file.");
}

TEST(BenchmarkClocks, LeaveOutWhatEachLeavesOut) {
  const auto clocks = benchmark_clocks(test::toy_events());
  ASSERT_TRUE(clocks);
  EXPECT_EQ(clocks->mlperf_s, 6);
  EXPECT_EQ(clocks->dawnbench_s, 4);
}

TEST(BenchmarkClocks, CheckpointInEvaluation_OnePause) {
  using enum EventKind;
  // Before the run nothing counts; 2 to 6 evaluation with a checkpoint from 3 to 7 beside it; another from 8 to 9.
  const auto clocks = benchmark_clocks(
      events({{kCheckpointStart, 0}, {kRunStart, 1}, {kEvaluationStart, 2}, {kCheckpointStart, 3}, {kEvaluationStop, 6},
          {kCheckpointStop, 7}, {kCheckpointStart, 8}, {kCheckpointStop, 9}, {kRunStop, 10}, {kCheckpointStart, 11}}));
  ASSERT_TRUE(clocks);
  EXPECT_EQ(clocks->mlperf_s, 9);
  EXPECT_EQ(clocks->dawnbench_s, 9 - 5 - 1);
}

TEST(BenchmarkClocks, TrainingDuringEvaluation_EndsThePause) {
  using enum EventKind;
  // 2 to 3 and 6 to 7 training stood still; a checkpoint from 4 to 4.5; the second evaluation is waited for.
  const auto clocks =
      benchmark_clocks(events({{kRunStart, 1}, {kEvaluationStart, 2}, {kEvaluationPredicted, 3}, {kCheckpointStart, 4},
          {kCheckpointStop, 4.5}, {kEvaluationStop, 5}, {kEvaluationStart, 6}, {kEvaluationStop, 7}, {kRunStop, 10}}));
  ASSERT_TRUE(clocks);
  EXPECT_EQ(clocks->dawnbench_s, 9 - 1 - 0.5 - 1);
}

TEST(BenchmarkClocks, StopInEvaluation_PausedUntilThen) {
  using enum EventKind;
  EXPECT_EQ(benchmark_clocks(events({{kRunStart, 1}, {kEvaluationStart, 4}, {kRunStop, 6}}))->dawnbench_s, 3);
}

TEST(BenchmarkClocks, AreUnknownWithoutStartOrStop) {
  using enum EventKind;
  EXPECT_FALSE(benchmark_clocks({}));
  EXPECT_FALSE(benchmark_clocks(events({{kRunStart, 1}, {kEvaluationStart, 4}})));
  EXPECT_FALSE(benchmark_clocks(events({{kRunStop, 1}})));
}

TEST(BenchmarkClocks, ResumedRun_IsUnknown) {
  using enum EventKind;
  auto resumed = events({{kRunStart, 1}, {kRunStop, 5}});
  EXPECT_TRUE(benchmark_clocks(resumed));
  resumed[0].step = 100;
  EXPECT_FALSE(benchmark_clocks(resumed));
}

TEST(EventLog, BothClocksAdvanceTogether) {
  std::vector<Event> all;
  EventLog log(now_s() - 2, [&](const Event& e) { all.push_back(e); });
  log.add(EventKind::kRunStart, 3, 1, {{"x", 1}});
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].clock_s, 0);
  EXPECT_GE(all[1].clock_s, 2);
  EXPECT_NEAR(static_cast<double>(all[1].time_ms - all[0].time_ms) / 1e3, all[1].clock_s, 0.1);
}

TEST(Mllog, LinesAreWhatPythonWouldWrite) {
  const MllogLine line{.time_ms = 1684011311970,
      .type = MllogType::kStart,
      .key = "epoch_start",
      .value = {{"a", {1, 2.5, "x\"\n\u00e9"}}, {"b", {}}},
      .metadata = {{"epoch_num", 1}}};
  const std::string text = mllog_text(line);
  ASSERT_TRUE(
      text.starts_with(":::MLLOG {\"namespace\": \"\", \"time_ms\": 1684011311970, \"event_type\": \"INTERVAL_START\", "
                       "\"key\": \"epoch_start\", \"value\": "))
      << text;
  EXPECT_NE(text.find("\"metadata\": {\"file\": \""), std::string::npos);
  EXPECT_EQ(text.find('\n'), std::string::npos);
  TempFolder folder;
  test::write_text(folder / "line.txt", text.substr(9));
  const auto done = test::run_command(
      "python3 -c 'import json,sys; t = open(sys.argv[1]).read(); print(json.dumps(json.loads(t)) == t)' " +
      (folder / "line.txt").string());
  EXPECT_EQ(done.output, "True\n") << text;
}

TEST(Mllog, Record_IsBehindLastToken) {
  const MllogText log = parse_mllog(
      "nothing\n12: :::MLLOG {\"key\": \"a\", \"value\": NaN, \"time_ms\": \"7.5\", \"metadata\": {\"x\": \"NaN\"}}  "
      "\r\n"
      ":::MLLOG no :::MLLOG {\"key\": \"b\", \"value\": [-Infinity, 1], \"time_ms\": 8, \"metadata\": {}, \"more\": "
      "\"\xe9\"}\n");
  ASSERT_EQ(log.records.size(), 2u);
  EXPECT_TRUE(log.faults.empty());
  EXPECT_EQ(log.records[0].time_ms, 7.5);
  EXPECT_EQ(log.records[0].line, 2u);
  EXPECT_TRUE(log.records[0].value.is_null());
  EXPECT_EQ(log.records[0].metadata["x"], "NaN");
  EXPECT_TRUE(log.records[1].value[0].is_null());
}

TEST(Mllog, LineWithoutRecord_IsNamed) {
  const MllogText log = parse_mllog(
      ":::MLLOG {\"key\": \"a\"\n:::MLLOG []\n:::MLLOG {\"key\": \"a\", \"time_ms\": 1, \"value\": 1}\n"
      ":::MLLOG {\"key\": \"a\", \"time_ms\": \"1.2.3\", \"value\": 1, \"metadata\": {}}\n");
  ASSERT_EQ(log.faults.size(), 4u);
  EXPECT_EQ(log.faults[0].reason, "is not JSON");
  EXPECT_EQ(log.faults[1].reason, "is no JSON object");
  EXPECT_EQ(log.faults[2].reason, "has no \"metadata\"");
  EXPECT_EQ(log.faults[3].reason, "has a time_ms that is no number");
}

TEST(MllogFile, ExistingFile_IsNeverReplacedUnasked) {
  TempFolder folder;
  const auto path = mllog_path(folder / "run.json");
  EXPECT_EQ(path.filename(), "run.mllog.txt");
  {
    MllogFile file(path, false);
    EXPECT_TRUE(file.write({.key = "seed", .value = 7}));
    EXPECT_EQ(parse_mllog(test::read_text(path)).records.at(0).value, 7);  // at once, not at the end
  }
  EXPECT_THROW(MllogFile(path, false), UsageError);
  EXPECT_THROW(MllogFile(folder / "no/such/folder.txt", true), UsageError);
  MllogFile(path, true);
  EXPECT_EQ(test::read_text(path), "");
}

TEST(MllogFile, AFullDiskIsSaidOnce) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  MllogFile file("/dev/full", true);
  EXPECT_FALSE(file.write({.key = "seed"}));
  EXPECT_TRUE(file.write({.key = "seed"}));
}

}  // namespace
}  // namespace ttt::result
