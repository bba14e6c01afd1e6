// Output of Google Benchmark: times in seconds whatever the unit, counters, repetitions, errors, and what is refused.
#include "reports/bench.h"

#include <gtest/gtest.h>

#include <random>

#include "core/error.h"
#include "core/temp_folder.h"
#include "reports/inputs.h"
#include "result/result_file.h"
#include "tests/support/python.h"
#include "tests/support/toy_record.h"

namespace ttt::reports {
namespace {

using result::Json;

Json entry(const std::string& name, double time, const std::string& unit) {
  return {{"name", name}, {"run_name", name}, {"run_type", "iteration"}, {"iterations", 100}, {"real_time", time},
      {"cpu_time", 2 * time}, {"time_unit", unit}};
}
Json document(const Json& entries) {
  return {
      {"context", {{"num_cpus", 4}, {"load_avg", {3.5, 1, 1}}, {"executable", "micro_x"}}}, {"benchmarks", entries}};
}

TEST(Bench, Times_InSecondsCountersWithNames) {
  Json with = entry("b/8", 5, "ms");
  with["items_per_second"] = 1600.0;
  const Document d = bench({bench_from_json(
      document(Json::array({entry("a", 1500, "ns"), with, entry("c", 2, "s"), entry("d", 3, "us")})), "f.json")});
  const Table& t = std::get<Table>(d[2]);
  EXPECT_EQ(t.rows[1][5].text, "1.6 k items_per_second");
  EXPECT_DOUBLE_EQ(t.rows[0][2].values[0], 1.5e-6);
  EXPECT_EQ(t.rows[0][2].text, "1.5 us");
  EXPECT_DOUBLE_EQ(t.rows[1][3].values[0], 0.010);
  EXPECT_EQ(t.rows[2][2].values[0], 2);
  EXPECT_DOUBLE_EQ(t.rows[3][2].values[0], 3e-6);
  EXPECT_EQ(t.rows[0][5].text, "-");  // a counter that the benchmark does not have is not zero
  EXPECT_TRUE(t.rows[0][5].values.empty());
  EXPECT_EQ(t.rows[1][5].values[0], 1600);
  EXPECT_NE(
      render_text(d, 200).find("The machine was busy when it began: a load of 3.50 on 4 CPUs"), std::string::npos);
}

TEST(Bench, Repetitions_OneRowWithMedian) {
  Json mean = entry("a", 77, "us");
  mean["run_type"] = "aggregate", mean["aggregate_name"] = "median";
  const BenchFile f = bench_from_json(
      document(Json::array({entry("a", 1, "us"), entry("a", 9, "us"), entry("a", 2, "us"), mean})), "f");
  ASSERT_EQ(f.benchmarks.size(), 1u);
  const Table t = std::get<Table>(bench({f})[2]);
  EXPECT_EQ(t.rows[0][1].values[0], 3);
  EXPECT_DOUBLE_EQ(t.rows[0][2].values[0], 2e-6);
  const Table alone = std::get<Table>(bench({bench_from_json(document(Json::array({mean})), "f")})[2]);
  EXPECT_DOUBLE_EQ(alone.rows[0][2].values[0], 77e-6);
  EXPECT_EQ(alone.rows[0][1].text, "-");
  EXPECT_EQ(alone.rows[0][4].text, "-");
}

// "a/shape/side" with one rate for each repetition.
void add_rates(Json& entries, const std::string& name, const std::vector<double>& rates) {
  for (const double rate : rates) {
    entries.push_back(entry(name, 1, "us"));
    entries.back()["boxes/s"] = rate;
  }
}

TEST(Bench, Peers_FastestIsTheOneCompared) {
  Json entries = Json::array();
  add_rates(entries, "nms/8/ours/iterations:5/manual_time", {2e6, 2e6, 2e6});
  add_rates(entries, "nms/8/slow/iterations:5/manual_time", {1e6});
  add_rates(entries, "nms/8/fast/iterations:5/manual_time", {4e6});
  add_rates(entries, "nms/8/ours_too/iterations:5/manual_time", {9e6});
  add_rates(entries, "crc/8/ours", {8e6});
  add_rates(entries, "crc/8/isal", {1e6});
  add_rates(entries, "alone/8/ours", {8e6});
  const Document d = bench({bench_from_json(document(entries), "f.json")});
  const Table& t = std::get<Table>(d[2]);
  ASSERT_EQ(t.rows.size(), 3u);  // two operations with peers, and their mean
  EXPECT_EQ(t.rows[0][0].text, "nms/8");
  EXPECT_EQ(t.rows[0][1].text, "2 M boxes/s");
  EXPECT_EQ(t.rows[0][2].text, "4 M boxes/s");
  EXPECT_EQ(t.rows[0][3].values, std::vector<double>{0.5});
  EXPECT_EQ(t.rows[0][4].text, "-");
  EXPECT_EQ(t.rows[0][5].text, "fast");
  EXPECT_DOUBLE_EQ(t.rows[2][3].values[0], 2);  // of 1/2 and 8
  EXPECT_TRUE(std::get<Paragraph>(d[1]).text.starts_with(
      "ours is 2 times as fast as the fastest peer (geometric mean over 2 operations); 2 with no interval: fewer than "
      "4 repetitions."))
      << std::get<Paragraph>(d[1]).text;
}

TEST(Bench, Ratios_AreScipys) {
  TTT_NEED_PYTHON("scipy");
  Json entries = Json::array();
  std::mt19937 random(7);
  for (int row = 0; row < 40; ++row)
    for (const auto& [side, fast] : {std::pair{"ours", 1.3}, {"peer", 1.0}}) {
      std::vector<double> rates(4 + random() % 12);
      for (double& rate : rates) rate = fast * std::lognormal_distribution<>(row, 0.2)(random);
      add_rates(entries, "op/" + std::to_string(row) + "/" + side, rates);
    }
  TempFolder folder;
  const std::string file = (folder / "bench.json").string();
  test::write_text(file, document(entries).dump());
  const auto checked = test::run_command(
      test::python() + " " TTT_SOURCE_DIR "/tests/reports/peer_oracle.py " TTT_REPORT " " + file + " 2>&1");
  EXPECT_EQ(checked.status, 0) << checked.output;
  EXPECT_EQ(checked.output, "40 ratios\n");
}

TEST(Bench, Error_IsARow) {
  Json broken = entry("a", 0, "ns");
  broken["error_occurred"] = true, broken["error_message"] = "no GPU here";
  const Table t = std::get<Table>(bench({bench_from_json(document(Json::array({broken})), "f")})[2]);
  EXPECT_EQ(t.rows[0][2].text, "-");
  EXPECT_EQ(t.rows[0].back().text, "no GPU here");
}

TEST(Bench, AMissingMemberIsNamed) {
  for (const char* key : {"real_time", "cpu_time", "iterations", "time_unit"}) {
    Json e = entry("a/1", 1, "us");
    e.erase(key);
    try {
      bench_from_json(document(Json::array({e})), "f.json");
      FAIL() << key;
    } catch (const DataError& error) {
      EXPECT_NE(std::string(error.what()).find(key), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("'a/1' in 'f.json'"), std::string::npos) << error.what();
    }
  }
}

TEST(Inputs, Kind_IsOfTheContent) {
  TempFolder folder;
  const auto file = [&](const std::string& name, const std::string& text) {
    test::write_text(folder / name, text);
    return (folder / name).string();
  };
  const std::string good = result::result_text(test::toy_record());
  std::string edited = good;
  edited.replace(edited.find("0.52,"), 4, "0.92");
  const Inputs in = read_inputs({file("a", good), file("b", document(Json::array({entry("a", 1, "us")})).dump()),
      file("cut", good.substr(0, 900)), file("edited", edited), file("other", "{\"x\": 1}"), file("list", "[1, 2]"),
      (folder / "none").string()});
  ASSERT_EQ(in.results.size(), 1u);
  EXPECT_EQ(in.results[0].text, good);
  ASSERT_EQ(in.benches.size(), 1u);
  ASSERT_EQ(in.left_out.size(), 5u);
  EXPECT_NE(in.left_out[0].reason.find("truncated"), std::string::npos);
  EXPECT_NE(in.left_out[1].reason.find("edited"), std::string::npos);
  EXPECT_NE(in.left_out[2].reason.find(
                "is neither a result of this suite (no schema_version) nor output of Google Benchmark"),
      std::string::npos);
  EXPECT_NE(in.left_out[3].reason.find("is neither"), std::string::npos);
  EXPECT_NE(in.left_out[4].reason.find("Cannot read"), std::string::npos);
}

}  // namespace
}  // namespace ttt::reports
