// MLPerf logs, reference convergence points and published results. What MLPerf's own programs say is compared in
// tests/mlperf.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>

#include "core/error.h"
#include "reports/check.h"
#include "reports/mlperf_rules.h"
#include "reports/rcp.h"
#include "reports/score.h"
#include "tests/eval/shared_data.h"
#include "tests/support/python.h"

namespace ttt::reports {
namespace {

using result::Json;

// The smallest log that keeps all rules.
std::vector<result::MllogLine> whole_log(std::int64_t seed = 7) {
  using enum result::MllogType;
  std::vector<result::MllogLine> log;
  std::int64_t time = 1000;
  const auto add = [&](result::MllogType type, const char* key, Json value = {}, Json metadata = Json::object()) {
    log.push_back({.time_ms = time += 1000,
        .type = type,
        .key = key,
        .value = std::move(value),
        .metadata = std::move(metadata)});
  };
  add(kPoint, "submission_benchmark", "maskrcnn"), add(kPoint, "submission_org", "us"),
      add(kPoint, "submission_division", "closed");
  add(kPoint, "submission_status", "research"), add(kPoint, "submission_platform", "one"),
      add(kPoint, "cache_clear", true), add(kStart, "init_start");
  add(kPoint, "seed", seed), add(kPoint, "global_batch_size", 8), add(kPoint, "num_image_candidates", 1000),
      add(kPoint, "gradient_accumulation_steps", 1);
  add(kPoint, "opt_base_learning_rate", 0.01), add(kPoint, "opt_learning_rate_warmup_steps", 500),
      add(kPoint, "opt_learning_rate_warmup_factor", 2e-5);
  add(kPoint, "opt_learning_rate_decay_factor", 0.1), add(kPoint, "opt_learning_rate_decay_steps", {144000, 192000});
  add(kPoint, "min_image_size", 800), add(kPoint, "max_image_size", 1333), add(kEnd, "init_stop"),
      add(kStart, "run_start"), add(kPoint, "train_samples", 117266);
  for (int epoch = 1; epoch <= 2; ++epoch) {
    add(kStart, "block_start", {}, {{"first_epoch_num", epoch}, {"epoch_count", 1}}),
        add(kStart, "epoch_start", {}, {{"epoch_num", epoch}});
    add(kEnd, "epoch_stop", {}, {{"epoch_num", epoch}}), add(kEnd, "block_stop", {}, {{"first_epoch_num", epoch}});
    add(kStart, "eval_start", {}, {{"epoch_num", epoch}});
    if (epoch == 1) add(kPoint, "eval_samples", 5000);
    add(kPoint, "eval_accuracy", {{"BBOX", epoch == 2 ? 0.38 : 0.2}, {"SEGM", 0.34}}, {{"epoch_num", epoch}}),
        add(kEnd, "eval_stop", {}, {{"epoch_num", epoch}});
  }
  add(kEnd, "run_stop", {}, {{"status", "success"}});
  return log;
}

result::MllogText text_of(const std::vector<result::MllogLine>& lines) {
  std::string text;
  for (const result::MllogLine& l : lines) text += result::mllog_text(l) + "\n";
  return result::parse_mllog(text);
}

result::MllogLine& line(std::vector<result::MllogLine>& log, const std::string& key, int nth = 0) {
  for (result::MllogLine& l : log)
    if (l.key == key && nth-- == 0) return l;
  throw std::out_of_range(key);
}

TEST(LogRules, AcceptAWholeLog) {
  const LogVerdict v = check_log(text_of(whole_log()));
  EXPECT_TRUE(v.accepted(false)) << v.faults[0].key << " " << v.faults[0].text;
  EXPECT_TRUE(v.warnings.empty());
  EXPECT_TRUE(v.relaxed.empty());
}

TEST(LogRules, Fault_NamesKeyAndLine) {
  auto log = whole_log();
  line(log, "opt_base_learning_rate").value = 0.013;
  const LogVerdict v = check_log(text_of(log));
  ASSERT_EQ(v.faults.size(), 1u);
  EXPECT_EQ(v.faults[0].key, "opt_base_learning_rate");
  EXPECT_EQ(v.faults[0].line, 12u);
  EXPECT_NE(v.faults[0].text.find("0.013"), std::string::npos);
}

TEST(LogRules, EveryKeyMustBeThere) {
  const auto whole = whole_log();
  const std::map<std::string, bool> replaceable = {{"seed", true}, {"eval_start", true}, {"eval_stop", true},
      {"block_start", true}, {"block_stop", true}, {"epoch_start", true}, {"epoch_stop", true}};
  for (const result::MllogLine& l : whole) {
    auto log = whole;
    std::erase_if(log, [&](const result::MllogLine& other) { return other.key == l.key; });
    EXPECT_EQ(check_log(text_of(log)).accepted(false), replaceable.contains(l.key)) << l.key;
  }
}

TEST(LogRules, ReviewersRules_AreSeparate) {
  const std::map<std::string, std::function<void(std::vector<result::MllogLine>&)>> broken = {
      {"an epoch that was not evaluated", [](auto& log) { line(log, "eval_accuracy", 1).metadata["epoch_num"] = 3; }},
      {"epochs from 0",
          [](auto& log) {
            for (const char* key : {"epoch_start", "epoch_stop"})
              for (int i : {0, 1}) line(log, key, i).metadata["epoch_num"] = i;
          }},
      {"an evaluation after the target", [](auto& log) { line(log, "eval_accuracy", 0).value["BBOX"] = 0.38; }},
      {"success without the target at the end",
          [](auto& log) { std::swap(line(log, "eval_accuracy", 0).value, line(log, "eval_accuracy", 1).value); }},
      {"another status", [](auto& log) { line(log, "run_stop").metadata["status"] = "fine"; }},
  };
  for (const auto& [what, change] : broken) {
    auto log = whole_log();
    change(log);
    const LogVerdict v = check_log(text_of(log));
    EXPECT_TRUE(v.accepted(true)) << what;
    EXPECT_FALSE(v.accepted(false)) << what;
  }
}

TEST(LogRules, ARelaxedRuleIsSaid) {
  auto log = whole_log();
  for (const char* setting : {"data.short_side", "data.long_side"})
    log.push_back({.key = "relaxed_rule", .value = "image_size", .metadata = {{"setting", setting}}});
  const Checked checked = check({{"a.txt", text_of(log)}});
  EXPECT_EQ(checked.rejected, 0u);
  EXPECT_NE(render_text(checked.document, 200).find("broke these rules of the closed division: image_size."),
      std::string::npos);
}

TEST(LogRules, Seeds_DifferBetweenLogs) {
  const auto a = text_of(whole_log(1)), b = text_of(whole_log(2));
  EXPECT_EQ(check({{"a", a}, {"b", b}}).rejected, 0u);
  EXPECT_EQ(check({{"a", a}, {"b", b}, {"c", a}}).rejected, 1u);
  EXPECT_EQ(check({{"a", a}, {"b", b}, {"c", a}}, {.compliance_alone = true}).rejected, 0u);
  auto none = whole_log();
  std::erase_if(none, [](const result::MllogLine& l) { return l.key == "seed"; });
  EXPECT_EQ(check({{"none", text_of(none)}}).rejected, 1u);
}

// Stated for the last rounds of the benchmark: batch, reference mean, least accepted mean.
TEST(ReferencePoints, PublishedPoints_PrunedAndInterpolated) {
  const std::vector<ReferencePoint> pruned = pruned_reference_points();
  ASSERT_EQ(pruned.size(), 3u);
  EXPECT_EQ(pruned[0].global_batch, 8);
  EXPECT_EQ(pruned[1].global_batch, 128);
  EXPECT_EQ(pruned[2].global_batch, 272);
  const double expected[][3] = {{8, 12.750, 12.181}, {16, 12.833, 12.328}, {64, 13.333, 13.044}, {96, 13.667, 13.522},
      {128, 14, 14}, {192, 15.389, 15.106}, {256, 16.778, 16.212}, {272, 17.125, 16.457}};
  for (const auto& [batch, mean, least] : expected) {
    const RcpResult r = compare_with_reference(batch, {20, 20, 20, 20, 20});
    EXPECT_NEAR(r.reference.mean, mean, 5.1e-4) << batch;
    EXPECT_NEAR(r.reference.least, least, 5.1e-4) << batch;
    EXPECT_EQ(r.verdict, RcpVerdict::kPass);
  }
}

TEST(ReferencePoints, PassNormaliseAndFail) {
  EXPECT_EQ(compare_with_reference(96, {14, 14, 13, 14, kNever}).verdict, RcpVerdict::kPass);
  EXPECT_EQ(compare_with_reference(96, {13, 13, 13, 13, 14}).verdict, RcpVerdict::kFail);
  const RcpResult small = compare_with_reference(4, {12, 12, 13, 13, 13});  // 12.667 of the 12.75 of batch 8
  EXPECT_EQ(small.verdict, RcpVerdict::kNormalised);
  EXPECT_NEAR(small.factor, 12.75 / (38.0 / 3), 1e-12);
  // no spread in the reference: no allowance
  EXPECT_EQ(compare_with_reference(128, {14, 14, 13, 13, 14}).verdict, RcpVerdict::kFail);
  EXPECT_EQ(compare_with_reference(300, {99, 99, 99, 99, 99}).verdict, RcpVerdict::kNoReference);
}

// Tables: upper 5 % points of Student's distribution (Abramowitz and Stegun, table 26.10).
TEST(ReferencePoints, StudentsTail) {
  for (const auto& [freedom, t] : std::initializer_list<std::pair<int, double>>{{1, 6.313752}, {2, 2.919986},
           {3, 2.353363}, {9, 1.833113}, {10, 1.812461}, {11, 1.795885}, {19, 1.729133}}) {
    EXPECT_NEAR(student_upper_tail(t, freedom), 0.05, 1e-7) << freedom;
    EXPECT_NEAR(student_upper_tail(-t, freedom), 0.95, 1e-7) << freedom;
  }
  EXPECT_EQ(student_upper_tail(0, 5), 0.5);
}

std::vector<Series> published() {
  return series_of_published(
      Json::parse(test::read_text(TTT_SOURCE_DIR "/results/published/mlperf_v3.0_maskrcnn.json")), "published");
}

TEST(Published, HasTheKnownScores) {
  const std::vector<Series> all = published();
  ASSERT_EQ(all.size(), 32u);
  std::map<std::string, double> minutes;
  for (const Series& s : all) {
    EXPECT_EQ(s.attempts.size(), 5u);
    const auto w = score_window(s);
    if (w) minutes[s.system] = w->mean_s / 60;
  }
  EXPECT_NEAR(minutes.at("NVIDIA dgxh100_ngc23.04_pytorch"), 19.18, 0.005);  // with one aborted run
  EXPECT_NEAR(minutes.at("Dell 8xXE8545x4A100-SXM-40GB"), 15.63, 0.005);
  EXPECT_NEAR(minutes.at("NVIDIA dgxh100_n48_ngc23.04_pytorch"), 1.47, 0.005);
  EXPECT_EQ(minutes.size(), 32u);
}

TEST(Published, UnknownValues_AreDashes) {
  Series own{.system = "mine"};
  own.attempts.push_back({.name = "a", .verdict = "passed", .run_s = 90, .images_per_s = 70});
  const Table t = beside({own, published()[0]});
  EXPECT_EQ(t.rows[0][5].text, "1.50");
  EXPECT_EQ(t.rows[0][1].text, "-");
  EXPECT_EQ(t.rows[0][8].text, "-");
  EXPECT_EQ(t.rows[1][1].text, "4");
}

TEST(Published, ADamagedFileNamesTheKey) {
  Json j = Json::parse(test::read_text(TTT_SOURCE_DIR "/results/published/mlperf_v3.0_maskrcnn.json"));
  j["systems"][3]["run_min"].erase(0);
  try {
    series_of_published(j, "p.json");
    FAIL();
  } catch (const DataError& e) {
    EXPECT_NE(std::string(e.what()).find("systems[3].run_min"), std::string::npos) << e.what();
  }
}

// The table is what its script makes of the runs, and the logs say the same as the table.
TEST(Published, PublishedTable_IsGeneratedByScript) {
  TTT_NEED_DATA("mlperf_published/maskrcnn_v3.0.csv");
  const auto made = test::run_command("python3 " TTT_SOURCE_DIR "/results/published/convert.py " +
                                      (test::shared_data() / "mlperf_published/maskrcnn_v3.0.csv").string());
  EXPECT_EQ(made.output, test::read_text(TTT_SOURCE_DIR "/results/published/mlperf_v3.0_maskrcnn.json"));
}

TEST(Published, TenLogs_GiveTheTable) {
  TTT_NEED_DATA("mlperf_published/logs");
  std::map<std::string, Series> table;
  for (const Series& s : published()) table[s.system] = s;
  for (const auto& [file, system, minutes] :
      {std::tuple{"NVIDIA-dgxh100_ngc23.04_pytorch", "NVIDIA dgxh100_ngc23.04_pytorch", 19.18},
          std::tuple{"Dell-8xXE8545x4A100-SXM-40GB", "Dell 8xXE8545x4A100-SXM-40GB", 15.63}}) {
    std::vector<NamedLog> logs;
    for (int i = 0; i < 5; ++i) {
      const std::string name = std::string(file) + "." + std::to_string(i) + ".txt";
      logs.push_back(
          {name, result::parse_mllog(test::read_text(test::shared_data() / "mlperf_published/logs" / name))});
    }
    const std::vector<Series> series = series_of_logs(logs);
    ASSERT_EQ(series.size(), 1u);
    const auto w = score_window(series[0]);
    ASSERT_TRUE(w) << file;
    EXPECT_NEAR(w->mean_s / 60, minutes, 0.005);
    std::map<std::string, const Attempt*> by_name;
    for (const Attempt& a : series[0].attempts) by_name[a.name] = &a;
    for (std::size_t i = 0; i < 5; ++i) {
      const Attempt &read = *by_name.at(logs[i].name), &known = table.at(system).attempts[i];
      EXPECT_EQ(read.epochs, known.epochs) << read.name;
      EXPECT_EQ(read.verdict, known.verdict) << read.name;
      EXPECT_EQ(read.reached(), known.reached()) << read.name;
      if (known.reached()) {
        EXPECT_NEAR(read.run_s, known.run_s, 0.004) << read.name;  // minutes of four decimals
      }
    }
    // the aborted run never reached the target
    EXPECT_EQ(check(logs, {.compliance_alone = true}).rejected, file[0] == 'N' ? 1u : 0u);
  }
}

}  // namespace
}  // namespace ttt::reports
