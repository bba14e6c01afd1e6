// The run record: JSON and back, the recorder, the journal.
#include <gtest/gtest.h>

#include <cctype>
#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <thread>

#include "core/error.h"
#include "core/temp_folder.h"
#include "result/run_recorder.h"
#include "tests/support/message_of.h"
#include "tests/support/python.h"
#include "tests/support/toy_record.h"

namespace ttt::result {
namespace {

using test::message_of;
using test::toy_evaluation;
using test::toy_record;
using test::toy_step;

TEST(RunRecord, Json_ReadsBack) {
  const RunRecord r = toy_record();
  const Json j = to_json(r);
  EXPECT_EQ(to_json(run_record_from_json(parse(dump(j), "j"))), j);
  EXPECT_EQ(j.at("accuracy").at(1).at("bbox").at("AP"), 0.52);
  EXPECT_EQ(j.at("clocks").at("mlperf_s"), 6);     // derived from the events, here where they can be read
  EXPECT_EQ(j.at("clocks").at("dawnbench_s"), 4);  // two evaluations of one second
  EXPECT_EQ(j.at("steps").at("phase_s").at("values").at("comm_exposed").at(7), 0.0625);
}

TEST(RunRecord, HealthAndInjected_ReadBack) {
  RunRecord r = toy_record();
  EXPECT_FALSE(to_json(r).contains("health"));
  EXPECT_FALSE(to_json(r).contains("injected"));
  r.health.watchdog = {300, 0.125, 0.25};
  r.injected = {"rank=1,step=4,kind=kill", "rank=2,epoch=1,kind=hang"};
  const Json j = to_json(r);
  EXPECT_EQ(to_json(run_record_from_json(parse(dump(j), "j"))), j);
  EXPECT_EQ(run_record_from_json(j).injected, r.injected);
  Json wrong = j;
  wrong["injected"] = "kill";
  EXPECT_NE(message_of([&] { run_record_from_json(wrong); }).find("injected"), std::string::npos);
}

TEST(RunRecord, MissingOrWrongMember_IsNamed) {
  const Json whole = to_json(toy_record());
  const std::vector<std::string> pointers = {"/clocks/train_s", "/accuracy/1/segm/ARl", "/steps/loss/values",
      "/steps/images", "/recipe/sha256", "/warnings", "/verdict", "/steps/step_s/ranks", "/events/1/event",
      "/events/2/clock_s"};
  for (const std::string& pointer : pointers) {
    const std::string key = pointer.substr(pointer.rfind('/') + 1);
    Json without = whole;
    without.at(Json::json_pointer(pointer.substr(0, pointer.rfind('/')))).erase(key);
    EXPECT_NE(message_of([&] { run_record_from_json(without); }).find(key), std::string::npos) << pointer;
    Json wrong = whole;
    wrong.at(Json::json_pointer(pointer)) = Json{{"no", "such"}};
    EXPECT_NE(message_of([&] { run_record_from_json(wrong); }).find(key), std::string::npos) << pointer;
  }
}

// Calls `with` for every number, word and list of a result that is declared, not described by a part itself.
void for_each_value(
    const Json& node, const Json::json_pointer& at, const std::function<void(Json::json_pointer)>& with) {
  static const std::set<std::string> kFree = {"provenance", "system", "settings", "changes", "against_defaults",
      "built", "data", "facts", "value", "changed", "ranks"};
  if (node.is_object())
    for (const auto& [key, child] : node.items())
      if (!kFree.contains(key) && key != "schema_version") for_each_value(child, at / key, with);
  if (node.is_array() && !node.empty() && node[0].is_structured()) for_each_value(node[0], at / 0, with);
  if (!node.is_object()) with(at);
}

TEST(RunRecord, OtherType_IsRefusedByName) {
  RunRecord r = test::toy_resumed();
  r.comparisons = test::toy_ablation().comparisons, r.peaks = test::toy_roofline().peaks;
  r.checks = test::toy_preflight().checks, r.telemetry = test::toy_telemetry(), r.health.gpus = test::toy_gpus();
  r.non_finite = {{3, "loss.mask", "nan"}}, r.injected = {"rank=1,step=4,kind=kill"};
  r.convergence = {{.ablation = "a", .target = {{"bbox_ap", 0.5}}, .trainings = {{.variant = "b"}}}};
  const Json whole = to_json(r);
  std::size_t values = 0;
  for_each_value(whole, Json::json_pointer(), [&](const Json::json_pointer& at) {
    const std::string key = std::isdigit(at.back()[0]) ? at.parent_pointer().back() : at.back();
    if (key == "mlperf_s" || key == "dawnbench_s") return;  // derived, not read
    Json wrong = whole;
    wrong.at(at) = Json{{"no", Json::array({"such"})}};
    EXPECT_NE(message_of([&] { run_record_from_json(wrong); }).find(key), std::string::npos) << at.to_string();
    ++values;
  });
  EXPECT_GT(values, 150u);
}

TEST(Trace, WrongTrace_IsRefused) {
  RunRecord r = toy_record();
  EXPECT_FALSE(run_record_from_json(to_json(r)).trace.has_value());  // as in files from before traces
  r.trace = test::toy_trace();
  const Json whole = to_json(r);
  EXPECT_EQ(to_json(run_record_from_json(parse(dump(whole), "j"))), whole);
  const auto changed = [&](const char* pointer, const Json& value) {
    Json j = whole;
    j["trace"].at(Json::json_pointer(pointer)) = value;
    return message_of([&] { run_record_from_json(j); });
  };
  EXPECT_NE(changed("/ranks/0/lanes/1/bytes", Json::array({1})).find("'gradients ready'"), std::string::npos);
  EXPECT_NE(changed("/ranks/0/lanes/0/event/3", 99).find("unknown event"), std::string::npos);
  EXPECT_NE(changed("/ranks/0/lanes/0/end_s/3", 1).find("before it starts"), std::string::npos);
  EXPECT_NE(changed("/ranks/1/clock_offset_s", "x").find("trace.ranks[1].clock_offset_s"), std::string::npos);
  EXPECT_NE(changed("/from_step", 0.5).find("trace.from_step"), std::string::npos);
}

// Nanoseconds do not tear a span out of the one that holds it.
TEST(Trace, Shift_KeepsTheNesting) {
  TraceRank rank = test::toy_trace().ranks[1];
  shift(rank, 10.1);
  const TraceLane& main = rank.lanes[0];
  EXPECT_EQ(main.start_s[0], -0.1);
  for (std::size_t i = 0; i < 7; ++i) {
    EXPECT_GE(main.start_s[i], main.start_s[7]);
    EXPECT_LE(main.end_s[i], main.end_s[7]);
    EXPECT_EQ(std::round(main.end_s[i] * 1e9) / 1e9, main.end_s[i]);
  }
}

TEST(RunRecord, ColumnsOfDifferentLengthAreRefused) {
  Json j = to_json(toy_record());
  j["steps"]["images"].push_back(16);
  EXPECT_NE(message_of([&] { run_record_from_json(j); }).find("different lengths"), std::string::npos);
}

TEST(RunRecord, OtherSchemaVersion_NamesTheRemedy) {
  Json j = to_json(toy_record());
  j["schema_version"] = 7;
  EXPECT_EQ(message_of([&] { run_record_from_json(j); }),
      "The result has schema version 7, this program reads version 1. Use the report of the newer build that "
      "wrote it.");
  j["schema_version"] = 0;
  EXPECT_EQ(message_of([&] { run_record_from_json(j); }),
      "The result has schema version 0, this program reads version 1. Use the report of the build that wrote it "
      "(provenance.commit).");
  // A version is looked at before anything that it may have otherwise.
  EXPECT_NE(message_of([] {
    run_record_from_json(Json{{"schema_version", 0}});
  }).find("schema version 0"),
      std::string::npos);
}

TEST(RunRecord, VerdictsHaveNamesAndExitCodes) {
  for (const Verdict v : {Verdict::kPassed, Verdict::kIncorrect, Verdict::kFailed, Verdict::kNotConverged,
           Verdict::kNotSupported, Verdict::kNotRun, Verdict::kSmoke})
    EXPECT_EQ(verdict_from_name(std::string(verdict_name(v))), v);
  EXPECT_EQ(verdict_exit_code(Verdict::kPassed), 0);
  EXPECT_EQ(verdict_exit_code(Verdict::kNotConverged), 6);
  EXPECT_THROW(verdict_from_name("fast"), DataError);
}

// Two ranks, reduced by hand: the slowest step, the mean phase, the mean loss.
TEST(StepSeries, Reduction_MaximumTimesMeanPhases) {
  StepSeries mine, other;
  mine.name_losses(test::kToyLosses), other.name_losses(test::kToyLosses);
  mine.add({.step = 0, .images = 4, .step_s = 2, .phase_s = {1, 1, 0, 0, 0, 0}, .loss = {1, 2, 3, 4, 5}});
  other.add({.step = 0, .images = 4, .step_s = 3, .phase_s = {0, 1, 2, 0, 0, 0}, .loss = {3, 2, 1, 0, 5}});
  int column = 0;  // the n-th reduction here meets the n-th of the other rank
  const auto columns_of = [](StepSeries& s) {
    std::vector<double*> all = {s.step_s.data()};
    for (auto& v : s.phase_s) all.push_back(v.data());
    for (auto& v : s.loss) all.push_back(v.data());
    return all;
  };
  const std::vector<double*> theirs = columns_of(other);
  reduce_over_ranks(
      mine, 2, [&](double* v, std::size_t) { *v = std::max(*v, *theirs.at(column++)); },
      [&](double* v, std::size_t) { *v += *theirs.at(column++); });
  EXPECT_EQ(column, 12);
  EXPECT_EQ(mine.step_s[0], 3);
  EXPECT_EQ(mine.phase_s[0][0], 0.5);
  EXPECT_EQ(mine.phase_s[2][0], 1);
  EXPECT_EQ(mine.loss[0][0], 2);
  EXPECT_EQ(mine.loss[4][0], 5);
  EXPECT_EQ(mine.step_ranks + mine.phase_ranks + mine.loss_ranks, "maxmeanmean");
}

TEST(RunRecorder, NonFiniteSample_KeptInWords) {
  RunRecorder recorder;
  recorder.update([](RunRecord& r) { r.steps.name_losses(test::kToyLosses); });
  EXPECT_TRUE(recorder.step(toy_step(0)));
  StepSample bad = toy_step(1);
  bad.loss[4] = std::nan("");
  bad.step_s = -std::numeric_limits<double>::infinity();
  EXPECT_FALSE(recorder.step(bad));
  Evaluation e = toy_evaluation(1, 0.1, 0.1);
  e.metrics[12].value = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(recorder.evaluation(e));
  const RunRecord r = recorder.snapshot();
  EXPECT_EQ(r.steps.size(), 1u);
  EXPECT_TRUE(r.accuracy.empty());
  EXPECT_EQ(to_json(r).at("non_finite"), Json::parse(R"([{"step": 1, "name": "step_s", "value": "-inf"},
    {"step": 1, "name": "loss.mask", "value": "nan"}, {"step": 4, "name": "accuracy.segm.AP", "value": "inf"}])"));
  EXPECT_NO_THROW(dump(to_json(r)));
}

TEST(RunRecorder, NonFiniteFact_IsRefused) {
  RunRecorder recorder;
  EXPECT_THROW(recorder.update([](RunRecord& r) { r.built["reducer"]["rate"] = std::nan(""); }), Incorrect);
  EXPECT_EQ(recorder.snapshot().built, Json::object());
}

TEST(RunRecorder, WarnsOnce) {
  RunRecorder recorder;
  for (int i = 0; i < 3; ++i) recorder.warn("slow disk");
  recorder.warn("no binding");
  EXPECT_EQ(recorder.snapshot().warnings, (std::vector<std::string>{"slow disk", "no binding"}));
}

// Threads record while another reads: thread sanitizer looks at this one.
TEST(RunRecorder, MayBeUsedFromSeveralThreads) {
  TempFolder folder;
  RunRecorder recorder;
  recorder.update([](RunRecord& r) { r.steps.name_losses(test::kToyLosses); });
  recorder.start_journal(folder / "journal", 0);
  std::thread steps([&] {
    for (int i = 0; i < 200; ++i) recorder.step(toy_step(i));
  });
  std::thread evaluations([&] {
    for (int i = 0; i < 50; ++i) recorder.evaluation(toy_evaluation(i, 0.1, 0.1));
  });
  for (int i = 0; i < 20; ++i) EXPECT_LE(recorder.snapshot().steps.size(), 200u);
  steps.join(), evaluations.join();
  EXPECT_EQ(to_json(recover_run(folder / "journal")).at("steps"), to_json(recorder.snapshot()).at("steps"));
}

void record_everything(RunRecorder& recorder, const RunRecord& r, int steps) {
  recorder.update([&](RunRecord& mine) {
    mine = r;
    mine.steps = {}, mine.steps.name_losses(test::kToyLosses), mine.accuracy.clear(), mine.warnings.clear(),
    mine.clocks = {}, mine.events.clear();
    mine.verdict = Verdict::kNotRun, mine.reason.clear();
  });
  for (int i = 0; i < steps; ++i) {
    recorder.step(toy_step(i));
    if (i % 4 == 3) recorder.evaluation(r.accuracy.at(static_cast<std::size_t>(i) / 4));
  }
  for (const Event& e : r.events) recorder.event(e);
  recorder.warn(r.warnings.at(0));
}

TEST(Journal, AFinishedRunIsRecoveredWhole) {
  TempFolder folder;
  const RunRecord r = toy_record();
  RunRecorder recorder;
  recorder.start_journal(folder / "out.json.journal", 0);
  record_everything(recorder, r, 8);
  recorder.clocks(r.clocks);
  recorder.finish(r.verdict, r.reason);
  Json expected = to_json(recorder.snapshot()), recovered = to_json(recover_run(folder / "out.json.journal"));
  EXPECT_EQ(recovered.at("warnings").size(), 2u);  // says that it was recovered
  recovered.erase("warnings"), expected.erase("warnings");
  EXPECT_EQ(recovered, expected);
}

// What a killed process leaves: the file cut at every byte after its first line.
TEST(Journal, CutJournal_GivesWholeLines) {
  TempFolder folder;
  RunRecorder recorder;
  recorder.start_journal(folder / "journal", 3);
  record_everything(recorder, toy_record(), 8);
  const std::string text = test::read_text(folder / "journal/rank00003.jsonl");
  const std::size_t first_line = text.find('\n') + 1;
  for (std::size_t size = first_line; size <= text.size(); ++size) {
    test::write_text(folder / "cut.jsonl", text.substr(0, size));
    const RunRecord r = recover_run(folder / "cut.jsonl");
    std::size_t whole = 0;
    for (std::size_t at = 0;
         (at = text.find("{\"type\":\"step\"", at)) != std::string::npos && text.find('\n', at) < size; ++at)
      ++whole;
    ASSERT_EQ(r.steps.size(), whole) << size;
    ASSERT_EQ(r.verdict, Verdict::kFailed);
    ASSERT_GE(r.clocks.train_s, 0.5 * static_cast<double>(whole));
  }
  EXPECT_EQ(recover_run(folder / "journal").reason, "ended without a verdict after step 7");
}

TEST(Journal, DamageIsNamedWithItsLine) {
  TempFolder folder;
  test::write_text(folder / "a.jsonl", "{\"type\": \"step\"}\n");
  EXPECT_NE(message_of([&] { recover_run(folder / "a.jsonl"); }).find("line 1 is not the start"), std::string::npos);
  test::write_text(folder / "b.jsonl", "[1]\n");
  EXPECT_NE(message_of([&] { recover_run(folder / "b.jsonl"); }).find("line 1"), std::string::npos);
  test::write_text(folder / "c.jsonl", "");
  EXPECT_NE(message_of([&] { recover_run(folder / "c.jsonl"); }).find("empty journal"), std::string::npos);
  EXPECT_THROW(recover_run(folder / "none"), UsageError);
}

TEST(Journal, UnmakeableFolder_IsAWarning) {
  TempFolder folder;
  test::write_text(folder / "file", "");
  RunRecorder recorder;
  recorder.update([](RunRecord& r) { r.steps.name_losses(test::kToyLosses); });
  recorder.start_journal(folder / "file/journal", 0);
  EXPECT_TRUE(recorder.step(toy_step(0)));
  ASSERT_EQ(recorder.snapshot().warnings.size(), 1u);
  EXPECT_NE(recorder.snapshot().warnings[0].find("Cannot write the journal"), std::string::npos);
}

}  // namespace
}  // namespace ttt::result
