// Groups of runs: benchstat's documented output from its documented input, published results, the gate.
#include "reports/group_compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "core/error.h"
#include "core/rng.h"
#include "result/result_file.h"
#include "tests/reports/lines.h"
#include "tests/support/message_of.h"
#include "tests/support/python.h"
#include "tests/support/toy_record.h"

namespace ttt::reports {
namespace {

using result::RunRecord;
using test::line_with;

// One line of benchstat's input, "BenchmarkEncode/format=json-48 ... 1726 ns/op": a run whose setting `format` is json
// and whose one baseline took 1726 ms.
NamedRun encode(const std::string& file, const std::string& format, double ns) {
  NamedRun run{file, test::toy_ablation()};
  run.record.recipe.settings["format"] = format;
  run.record.peaks.clear();
  result::Comparison& c = run.record.comparisons[0];
  c.ablation = "Encode", c.baseline = "48";
  for (double& s : c.samples.baseline_s) s = ns / 1e3;
  run.record.comparisons.resize(1);
  return run;
}

// The times of old.txt and new.txt in the documentation of golang.org/x/perf/cmd/benchstat.
Group go_file(const std::string& title, const std::vector<double>& json, const std::vector<double>& gob) {
  Group g{title, {}};
  for (const double ns : json) g.runs.push_back(encode(title + ".txt", "json", ns));
  for (const double ns : gob) g.runs.push_back(encode(title + ".txt", "gob", ns));
  return g;
}
const Group kOld = go_file("old", {1726, 1723, 1707, 1707, 1713, 1729, 1736, 1707, 1705, 1774},
    {3069, 3075, 3069, 3067, 3207, 3064, 3064, 3058, 3059, 3062});
const Group kNew = go_file("new", {1423, 1416, 1411, 1413, 1412, 1426, 1422, 1424, 1447, 1425},
    {3075, 3065, 3059, 3065, 3060, 3081, 3186, 3135, 3087, 3062});

std::string compared(const std::vector<Group>& groups, const GroupOptions& options) {
  return render_text(compare_groups(groups, options).document, 300);
}
void expect_parts(const std::string& line, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) EXPECT_NE(line.find(part), std::string::npos) << part << " in: " << line;
}

// benchstat old.txt new.txt: 1.718µ ± 1%  1.423µ ± 1%  -17.20% (p=0.000 n=10), 3.066µ ± 0%  3.070µ ± 2%  ~ (p=0.446
// n=10), geomean 2.295µ  2.090µ  -8.94%. The key /format is ours `format`, .fullname the rest of the name.
TEST(Groups, BenchstatsExample_IsReproduced) {
  const std::string text = compared({kOld, kNew}, {.row = "format"});
  expect_parts(line_with(text, "json "), {"json 1718 ± 1 % 142", "± 1 % -17.20 % (", "0.000 10+10"});
  expect_parts(line_with(text, "gob "), {"gob 3066 ± 0 % 3070 ± 2 % ~ +", "0.446 10+10"});
  expect_parts(line_with(text, "geometric mean  "), {"geometric mean 2295 2090 -8.94 % - 2 rows"});
  EXPECT_TRUE(
      text.starts_with("new is 1.10 times as fast as old (geometric mean of 2 rows, baseline step 2295 ms -> 2090 "
                       "ms; of 2 rows 1 is shown to be better, 0 worse)."))
      << text;
}

// benchstat -col /format -row .name new.txt: 1.423µ  3.070µ  +115.82% (p=0.000 n=10); with -col "/format@(gob json)":
// -53.66%.
TEST(Groups, BenchstatsProjections_AreReproduced) {
  const std::string forward = compared({kNew}, {.row = ".name", .col = "format"});
  expect_parts(line_with(forward, "Encode "), {"± 1 % 3070 ± 2 % +115.82 % (", "0.000 10+10"});
  const std::string back = compared({kNew}, {.row = ".name", .col = "format@(gob json)", .ignored = {".file"}});
  expect_parts(line_with(back, "Encode "), {"3070 ± 2 %", "-53.66 % (", "0.000 10+10"});
  EXPECT_EQ(line_with(back, "differ in format"), "");
  const std::string filtered = compared({kOld, kNew}, {.filter = "format:json .unit:(\"baseline step\" OR other)"});
  expect_parts(line_with(filtered, "Encode: 48 "), {"-17.20 % (", "0.000 10+10"});
  // benchstat -row .name new.txt groups json and gob: "benchmarks vary in .fullname", of which ours is the setting.
  const std::string mixed = compared({kOld, kNew}, {.row = ".name"});
  EXPECT_EQ(line_with(mixed, "vary in"), "! The runs of old and new vary in format: gob, json.");
  EXPECT_EQ(line_with(compared({kOld, kNew}, {.row = ".name", .ignored = {"format"}}), "vary in"), "");
}

// The same on published results: /format is train.reducer.kind, /gomaxprocs system.world_size, ns/op "step time",
// new.txt the traces of the EPYC. Python's own medians are the outside ones.
TEST(Groups, PublishedTraces_HavePythonsMedians) {
  TTT_NEED_PYTHON("json");
  const std::string folder = TTT_SOURCE_DIR "/results/epyc-avx512-2cores/2026-11-23_trace_e92fd04/";
  Group traces{"A", {}};
  for (const char* ranks : {"2", "4"})
    for (const char* reducer : {"blocking", "bucketed", "flat_async"}) {
      const std::string file = folder + ranks + "_ranks_" + reducer + ".json";
      traces.runs.push_back({file, result::read_result(file)});
    }
  const GroupOptions options{.row = "system.world_size@num",
      .col = "train.reducer.kind@(bucketed blocking)",
      .filter = ".unit:\"step time\" .file:/epyc/ -train.reducer.kind:flat_async"};
  const Document d = compare_groups({traces}, options).document;
  const auto& table = std::get<Table>(d[4]);
  ASSERT_EQ(table.rows.size(), 3u);
  const std::string script =
      " -c \"import json,statistics,sys;[print(1e3*statistics.median(json.load(open(f))['steps']"
      "['step_s']['values'])) for f in sys.argv[1:]]\"";
  for (const std::size_t row : {0, 1}) {
    const std::string base = folder + (row == 0 ? "2" : "4") + "_ranks_";
    std::istringstream out(
        test::run_command(test::python() + script + " " + base + "bucketed.json " + base + "blocking.json").output);
    double bucketed = 0, blocking = 0;
    ASSERT_TRUE(out >> bucketed >> blocking);
    EXPECT_EQ(table.rows[row][1].values, std::vector<double>{bucketed});
    EXPECT_EQ(table.rows[row][2].values, std::vector<double>{blocking});
    EXPECT_NEAR(table.rows[row][3].values[0], 100 * (blocking / bucketed - 1), 1e-9);
  }
}

// `.config` stands for what varies and is not asked for elsewhere: a row for each number of ranks.
TEST(Groups, ConfigRows_AreWhatVaries) {
  std::vector<Group> groups = {kOld, kNew};
  for (Group& g : groups)
    for (std::size_t i = 0; i < g.runs.size(); i += 2) g.runs[i].record.system["world_size"] = 4;
  const std::string text = compared(groups, {.row = ".config", .filter = "format:json"});
  expect_parts(line_with(text, "5+5"), {"2 17", "4 17"});
  EXPECT_NE(test::message_of([&] {
    compare_groups(groups, {.row = "sistem.world_size"});
  }).find("No result has the key 'sistem.world_size'. The nearest is 'system.world_size'"),
      std::string::npos);
  EXPECT_NE(test::message_of([&] { compare_groups({kOld}, {}); }).find("needs two columns"), std::string::npos);
}

std::string first_line(const Document& d) { return std::get<Paragraph>(d[0]).text; }

// The baseline of two variants counts once, and an operation alone is no step. How long the measuring took is no time
// to target.
TEST(Groups, Ablations_StepsOncePerBaseline) {
  RunRecord a = test::toy_ablation();
  a.peaks = test::toy_roofline().peaks;
  a.comparisons[1] = a.comparisons[0];
  a.comparisons[1].variant = "flat_async";
  a.comparisons.push_back(a.comparisons[0]);
  a.comparisons[2].ablation = "read_path", a.comparisons[2].phases = result::Json::object();
  RunRecord b = a;
  for (result::Comparison& c : b.comparisons)
    for (double& s : c.samples.baseline_s) s *= 0.5;
  for (double& s : b.peaks[0].samples) s *= 2;
  const Document d = compare_groups({{"A", {{"a.json", a}}}, {"B", {{"b.json", b}}}}, {}).document;
  const std::string text = render_text(d, 200);
  EXPECT_TRUE(
      first_line(d).starts_with("No difference shown between A and B (baseline step 1188 ms -> 593.8 ms, n=1+1"))
      << text;
  EXPECT_EQ(line_with(text, "baseline's step"),
      "time of a baseline's step [ms]: reducer: blocking 1188 593.8 ~ -50.00 % - 1+1");
  EXPECT_EQ(line_with(text, "baseline's operation"),
      "time of a baseline's operation [ms]: read_path: blocking 1188 593.8 ~ -50.00 % - 1+1");
  EXPECT_EQ(
      line_with(text, "peak matrix_multiply"), "peak matrix_multiply [flop/s] 1.25e+11 2.5e+11 ~ +100.00 % - 1+1");
  EXPECT_EQ(text.find("time to target"), std::string::npos);
  b.verdict = result::Verdict::kIncorrect;
  EXPECT_EQ(line_with(compared({{"A", {{"a", a}}}, {"B", {{"b", b}}}}, {}), "incorrect."), "! B ended as incorrect.");
  EXPECT_NE(test::message_of([&] {
    compare_groups({{"A", {{"a", a}}}, {"B", {{"b", test::toy_record()}}}}, {});
  }).find("Name results of one kind"),
      std::string::npos);
}

std::vector<NamedRun> published_runs() {
  std::vector<NamedRun> runs;
  for (const char* seed : {"1", "2", "3"}) {
    const std::string file =
        std::string(TTT_SOURCE_DIR "/results/xeon-avx512-2cores/2026-11-21_ttt_maskrcnn_6fedf12611/") + seed + ".json";
    runs.push_back({file, result::read_result(file)});
  }
  return runs;
}

// A run made of a published one: its steps in blocks of 100 consecutive ones, drawn with replacement, each `stretch`
// times as long. Neighbours stay together, and the three runs' own levels stay in the spread between runs.
NamedRun resampled(const std::vector<NamedRun>& real, double stretch, Stream& random) {
  NamedRun run = real[random.below(real.size())];
  const std::vector<double> before = run.record.steps.step_s;
  std::vector<double>& times = run.record.steps.step_s;
  constexpr std::size_t kBlock = 100;
  for (std::size_t at = 0; at < times.size();) {
    const std::size_t from = random.below(before.size() - kBlock + 1);
    for (std::size_t i = 0; i < kBlock && at < times.size(); ++i) times[at++] = before[from + i] * stretch;
  }
  run.record.accuracy.back().wall_s +=
      std::accumulate(times.begin(), times.end(), 0.0) - std::accumulate(before.begin(), before.end(), 0.0);
  return run;
}

// How often the gate of `limit` stops B where its steps are `stretch` times as long as A's.
int stopped(const std::string& metric, double limit, std::size_t runs, double stretch, int comparisons) {
  const std::vector<NamedRun> real = published_runs();
  Stream random(random_bits(runs, Purpose::kTest, static_cast<std::uint64_t>(comparisons)));
  int count = 0;
  for (int i = 0; i < comparisons; ++i) {
    std::vector<Group> groups = {{"A", {}}, {"B", {}}};
    for (std::size_t r = 0; r < runs; ++r) {
      groups[0].runs.push_back(resampled(real, 1, random));
      groups[1].runs.push_back(resampled(real, stretch, random));
    }
    count += !compare_groups(groups, {.filter = ".unit:\"" + metric + "\"", .metric = metric, .gate = limit}).passed;
  }
  return count;
}

// The time to target varies by 2 % from one such run to the next. So a slow-down by 5 % is told from one of 3 % by 40
// runs of each side. That it is one at all takes 10 runs.
TEST(Gate, PublishedRuns_FewAlarmsPlantedFound) {
  for (const auto& [metric, limit, runs] : std::vector<std::tuple<std::string, double, std::size_t>>{
           {"time to target", 0, 10}, {"time to target", 0.03, 40}}) {
    const int alarms = stopped(metric, limit, runs, 1, 100), found = stopped(metric, limit, runs, 1.05, 20);
    std::printf("%s, gate %g %%, %zu + %zu runs: %d of 100 false alarms, %d of 20 planted found\n", metric.c_str(),
        100 * limit, runs, runs, alarms, found);
    EXPECT_LE(alarms, 5);
    EXPECT_GE(found, 18);
  }
}

TEST(Gate, MissingNumbers_FailOrRefuse) {
  std::vector<Group> groups = {{"A", {}}, {"B", {}}};
  for (int i = 0; i < 4; ++i)
    for (Group& g : groups) g.runs.push_back({"run", test::toy_record()});
  EXPECT_TRUE(compare_groups(groups, {.gate = 0.03}).passed);
  EXPECT_NE(test::message_of([&] {
    compare_groups(groups, {.metric = "step tim", .gate = 0});
  }).find("The nearest is 'step time'"),
      std::string::npos);
  groups[1].runs[0].record.verdict = result::Verdict::kNotConverged;
  const GroupComparison missing = compare_groups(groups, {.gate = 0.03});
  EXPECT_FALSE(missing.passed);
  EXPECT_NE(first_line(missing.document).find(" 1 of 4 runs of B has no time to crossing and does not count."),
      std::string::npos)
      << first_line(missing.document);
  EXPECT_EQ(
      std::get<Paragraph>(missing.document[1]).text, "Gate of 3 %: failed. 1 of 4 runs of B has no time to crossing.");
  EXPECT_NE(test::message_of([&] {
    compare_groups(groups, {.filter = ".unit:evaluation", .metric = "step time"});
  }).find("No run has the metric 'step time'. There are: evaluation."),
      std::string::npos);
  groups[0].runs.resize(3), groups[1].runs.erase(groups[1].runs.begin());
  EXPECT_NE(
      test::message_of([&] { compare_groups(groups, {.gate = 0.03}); }).find("The gate needs 4 runs of A and of B"),
      std::string::npos);
}

// The interval by numpy: the 24th smallest and largest of the 100 differences of logarithms, as R's qwilcox(0.025, 10,
// 10) says.
// json is 17 % faster in new, gob is not shown to differ: with the sides exchanged one row of two fails.
TEST(Gate, SeveralRows_CountFirst) {
  const GroupComparison passed = compare_groups({kOld, kNew}, {.row = "format", .gate = 0.03});
  EXPECT_TRUE(passed.passed);
  EXPECT_TRUE(std::get<Paragraph>(passed.document[1]).text.starts_with("Gate of 3 %: passed in all 2 rows."));
  const GroupComparison failed = compare_groups({kNew, kOld}, {.row = "format", .gate = 0.03});
  EXPECT_FALSE(failed.passed);
  EXPECT_TRUE(std::get<Paragraph>(failed.document[1]).text.starts_with("Gate of 3 %: failed in 1 of 2 rows."));
  EXPECT_TRUE(std::get<Paragraph>(failed.document[2])
                  .text.starts_with("baseline step, json of old is worse by more (+19.96 to +22.03 %"))
      << std::get<Paragraph>(failed.document[2]).text;
  Group few = kNew;
  std::erase_if(few.runs, [](const NamedRun& r) { return r.record.recipe.settings["format"] == "gob"; });
  EXPECT_NE(test::message_of([&] {
    compare_groups({kOld, few}, {.row = "format", .gate = 0.03});
  }).find("with baseline step, gob; there are 10 and 0. Name more runs, or leave that row out with --filter."),
      std::string::npos);
}

// Of any samples, also of two far modes, the change lies in its interval; both orders say the same.
TEST(Groups, EveryChange_LiesInItsInterval) {
  Stream random(random_bits(1, Purpose::kTest, 21));
  for (int i = 0; i < 3000; ++i) {
    std::vector<double> a(4 + random.below(30)), b(4 + random.below(30));
    for (auto* side : {&a, &b})
      for (double& x : *side) x = std::exp(random.uniform(-1, 1) + (random.below(2) ? 5.0 : 0.0) * (i % 2));
    const GroupChange ab = group_change(a, b), ba = group_change(b, a);
    ASSERT_TRUE(ab.interval && ba.interval);
    EXPECT_LE(ab.interval->low, ab.estimate);
    EXPECT_GE(ab.interval->high, ab.estimate);
    EXPECT_NEAR((1 + ab.estimate) * (1 + ba.estimate), 1, 1e-9);
    EXPECT_NEAR((1 + ab.interval->low) * (1 + ba.interval->high), 1, 1e-9);
    EXPECT_NEAR(ab.p, ba.p, 1e-9);
    if (ab.is_shown()) { EXPECT_LE(ab.p, 0.051) << a.size() << " " << b.size(); }
  }
  EXPECT_FALSE(group_change({1, 2, 3}, {4, 5, 6}).is_shown());
}

}  // namespace
}  // namespace ttt::reports
