// A trace whose overlaps are known in closed form (toy_trace), as numbers and as a file for viewers.
#include "reports/timeline.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/reports/lines.h"
#include "tests/support/toy_record.h"

namespace ttt::reports {
namespace {

NamedRun traced() {
  NamedRun run{"a.json", test::toy_record()};
  run.record.trace = test::toy_trace();
  return run;
}

TEST(Timeline, OverlapsInClosedForm) {
  const auto all = overlaps(test::toy_trace());
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].steps, 2);
  EXPECT_EQ(all[0].step_s, 1);
  EXPECT_EQ(all[0].communication_s, 0.375);
  EXPECT_EQ(all[0].behind_backward_s, 0.125);
  EXPECT_EQ(all[0].behind_data_wait_s, 0.125);
  EXPECT_EQ(all[0].exposed_s, 0.125);
  EXPECT_EQ(all[0].elsewhere_s, 0);
  EXPECT_EQ(all[0].comm_exposed_s, 0.25);
  EXPECT_EQ(all[0].late_ranks_s, 0.0625);  // rank 1 starts the first bucket of each step 1/32 s later
  EXPECT_EQ(all[1].communication_s, 0.3125);
  EXPECT_EQ(all[1].behind_backward_s, 0.0625);
  EXPECT_EQ(all[1].late_ranks_s, 0);
}

TEST(Timeline, EqualAllReduces_AreCompared) {
  result::TraceRecord t = test::toy_trace();
  for (auto* column : {&t.ranks[1].lanes[2].event, &t.ranks[1].lanes[2].number, &t.ranks[1].lanes[2].bytes})
    column->pop_back();
  t.ranks[1].lanes[2].start_s.pop_back(), t.ranks[1].lanes[2].end_s.pop_back();
  EXPECT_FALSE(overlaps(t)[0].late_ranks_s.has_value());
  NamedRun run = traced();
  run.record.trace = t;
  EXPECT_EQ(test::line_with(render_text(timeline({run}), 250), "188 ms"),
      "0 500 ms 188 ms 62.5 ms (33 %) 62.5 ms (33 %) 62.5 ms (33 %) 0 ns (0 %) - 125 ms");
}

// What the host does not see (a communicator of the device) took some time, not none.
TEST(Timeline, UnseenCommunication_IsNotZero) {
  NamedRun run = traced();
  for (auto& rank : run.record.trace->ranks) rank.lanes.resize(1);
  EXPECT_EQ(test::line_with(render_text(timeline({run}), 250), "500 ms"),
      "0 500 ms - - - - - - 125 ms\n1 500 ms - - - - - - 125 ms");
}

TEST(Timeline, StepMeans_WithTheirLimit) {
  NamedRun run = traced();
  run.record.trace->ranks[1].lanes[0].dropped = 7;
  const std::string text = render_text(timeline({run}), 250);
  EXPECT_NE(text.find("2 steps from step 3 on."), std::string::npos) << text;
  EXPECT_EQ(test::line_with(text, "500 ms"),
      "0 500 ms 188 ms 62.5 ms (33 %) 62.5 ms (33 %) 62.5 ms (33 %) 0 ns (0 %) 31.2 ms (17 %) 125 ms\n"
      "1 500 ms 156 ms 31.2 ms (20 %) 62.5 ms (40 %) 62.5 ms (40 %) 0 ns (0 %) 0 ns (0 %) 125 ms");
  EXPECT_NE(test::line_with(text, "clocks").find("compare to 2 us or better"), std::string::npos) << text;
  EXPECT_NE(test::line_with(text, "no room").find("rank 1, main: 7 spans found no room"), std::string::npos) << text;
}

TEST(Timeline, SaysWhatIsMissing) {
  NamedRun run{"a.json", test::toy_record()};
  EXPECT_NE(why_no_trace(run).find("none was asked for"), std::string::npos);
  run.record.recipe.settings["train"] = {{"trace_steps", 20}};
  EXPECT_NE(why_no_trace(run).find("train.trace_steps = 20"), std::string::npos);
  run.record.trace = test::toy_trace();
  EXPECT_EQ(why_no_trace(run), "");
  for (auto& rank : run.record.trace->ranks) rank.lanes.clear();
  EXPECT_NE(
      render_text(timeline({run}), 100).find("No step was recorded: the run ended before step 3"), std::string::npos);
  run = traced();
  for (auto& rank : run.record.trace->ranks) rank.lanes.resize(1);
  EXPECT_NE(render_text(timeline({run}), 100).find("No all-reduce of gradients was recorded"), std::string::npos);
}

TEST(Timeline, ChromeTraceInMicroseconds) {
  NamedRun run = traced();
  const result::Json j = result::parse(chrome_trace({run, run}), "trace");
  std::size_t complete = 0, instants = 0, names = 0;
  for (const auto& e : j.at("traceEvents")) {
    complete += e.at("ph") == "X", instants += e.at("ph") == "i", names += e.at("name") == "process_name";
    EXPECT_LT(e.at("pid"), 4);
  }
  EXPECT_EQ(complete, 4 * 2 * (8 + 2u));
  EXPECT_EQ(instants, 4 * 2 * 2u);
  EXPECT_EQ(names, 4u);
  const auto& first_reduce = *std::find_if(
      j["traceEvents"].begin(), j["traceEvents"].end(), [](const auto& e) { return e["name"] == "all_reduce"; });
  EXPECT_EQ(first_reduce["ts"], 10187500.0);
  EXPECT_EQ(first_reduce["dur"], 93750.0);
  EXPECT_EQ(first_reduce["args"], (result::Json{{"bucket", 0}, {"bytes", 1000}}));
}

// A loader may have begun before the run: viewers take no negative times.
TEST(Timeline, ChromeTrace_BeginsAtZero) {
  NamedRun run = traced();
  result::shift(run.record.trace->ranks[0], 12);
  result::shift(run.record.trace->ranks[1], 12);
  double first = 1e9;
  const result::Json j = result::parse(chrome_trace({run}), "trace");
  for (const auto& e : j.at("traceEvents"))
    if (e.contains("ts")) first = std::min(first, e["ts"].get<double>());
  EXPECT_EQ(first, 0);
}

}  // namespace
}  // namespace ttt::reports
