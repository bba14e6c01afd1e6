// What a run writes while it goes: samples of telemetry, and a journal that is read meanwhile.
#include <gtest/gtest.h>

#include <limits>

#include "core/error.h"
#include "core/temp_folder.h"
#include "result/run_recorder.h"
#include "tests/support/message_of.h"
#include "tests/support/python.h"
#include "tests/support/toy_record.h"

namespace ttt::result {
namespace {

using test::message_of;
using test::toy_record;

TEST(Telemetry, WrongSeries_IsRefused) {
  RunRecord r = toy_record();
  EXPECT_FALSE(run_record_from_json(to_json(r)).telemetry.has_value());
  r.telemetry = test::toy_telemetry();
  const Json whole = to_json(r);
  EXPECT_EQ(to_json(run_record_from_json(parse(dump(whole), "j"))), whole);
  const auto changed = [&](const char* pointer, const Json& value) {
    Json j = whole;
    j["telemetry"].at(Json::json_pointer(pointer)) = value;
    return message_of([&] { run_record_from_json(j); });
  };
  EXPECT_NE(changed("/groups/1/weight_norm", Json::array({1})).find("different lengths"), std::string::npos);
  EXPECT_NE(changed("/cost_s", Json::array()).find("different lengths"), std::string::npos);
  EXPECT_NE(changed("/step/2", 1).find("do not ascend"), std::string::npos);
  EXPECT_NE(changed("/groups/0/parameters", "x").find("telemetry.groups[0].parameters"), std::string::npos);
  EXPECT_NE(changed("/pictures/step", Json::array()).find("different lengths"), std::string::npos);
}

TEST(Telemetry, Samples_AreRecordedAndRecovered) {
  TempFolder folder;
  RunRecorder recorder(toy_record());
  recorder.start_journal(folder / "journal", 0);
  recorder.update([](RunRecord& r) { r.telemetry = test::toy_telemetry().without_samples(); });
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(recorder.telemetry(test::toy_sample(i)));
  recorder.update([](RunRecord& r) { r.data["more"] = 1; });  // keeps the samples, and does not write them again
  EXPECT_TRUE(recorder.telemetry(test::toy_sample(3)));
  recorder.pictures(4, 0.25);
  EXPECT_EQ(json_of(*recorder.snapshot().telemetry), json_of(test::toy_telemetry()));
  EXPECT_EQ(json_of(*recover_run(folder / "journal").telemetry), json_of(test::toy_telemetry()));
  TelemetrySample infinite = test::toy_sample(4);
  infinite.gradient_norm[1] = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(recorder.telemetry(infinite));
  const RunRecord r = recorder.snapshot();
  EXPECT_EQ(r.telemetry->size(), 4u);
  ASSERT_EQ(r.non_finite.size(), 1u);
  EXPECT_EQ(r.non_finite[0].name, "telemetry.gradient_norm.mask_head");
  const std::string text = test::read_text(folder / "journal/rank00000.jsonl");
  const std::size_t sample = text.find("{\"type\":\"telemetry\""),
                    norms = text.find("\"gradient_norm\":[", sample) + 17;
  // one norm less
  test::write_text(folder / "wrong.jsonl", text.substr(0, norms) + text.substr(text.find(',', norms) + 1));
  EXPECT_NE(message_of([&] { recover_run(folder / "wrong.jsonl"); }).find("norms of 1 groups"), std::string::npos);
}

// A reader beside the writer: whole lines as they come, each once, and the torn one when it is whole.
TEST(Journal, IsReadWhileItIsWritten) {
  TempFolder folder;
  RunRecorder recorder;
  recorder.update([](RunRecord& r) { r.steps.name_losses(test::kToyLosses); });
  recorder.start_journal(folder / "whole", 0);
  for (int i = 0; i < 8; ++i) recorder.step(test::toy_step(i));
  recorder.evaluation(test::toy_evaluation(1, 0.4, 0.5));
  recorder.finish(Verdict::kPassed, "done");
  const std::string text = test::read_text(folder / "whole/rank00000.jsonl");
  test::write_text(folder / "growing.jsonl", "");
  JournalReader reader(folder / "growing.jsonl");
  EXPECT_FALSE(reader.poll());
  EXPECT_FALSE(reader.started());
  std::size_t lines = 0, news = 0;
  for (std::size_t size = 0; size < text.size(); size += 37) {
    test::write_text(folder / "growing.jsonl", text.substr(0, size));
    news += reader.poll();
  }
  for (const char c : text) lines += c == '\n';
  EXPECT_GE(news, lines - 2);
  EXPECT_FALSE(reader.ended());
  test::write_text(folder / "growing.jsonl", text);
  EXPECT_TRUE(reader.poll());
  EXPECT_FALSE(reader.poll());
  EXPECT_TRUE(reader.ended());
  EXPECT_EQ(reader.record().steps.size(), 8u);
  EXPECT_EQ(to_json(reader.record()).at("accuracy"), to_json(recorder.snapshot()).at("accuracy"));
  // A run that takes the same place begins its journal anew.
  test::write_text(folder / "growing.jsonl", text.substr(0, text.find("{\"type\":\"step\"")));
  EXPECT_TRUE(reader.poll());
  EXPECT_EQ(reader.record().steps.size(), 0u);
  EXPECT_FALSE(reader.ended());
}

}  // namespace
}  // namespace ttt::result
