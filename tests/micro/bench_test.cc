// A benchmark of a wrong result takes no time: what finds it, and what it then reports.
#include "benchmarks/micro/bench.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace ttt::micro {
namespace {

std::string off(std::vector<float> ours, std::vector<float> peer, double tolerance, double fraction = 0) {
  return difference<float>("x", ours, peer, tolerance, fraction);
}

TEST(Difference, Tolerance_RelativeAboveOne) {
  EXPECT_EQ(off({100.f, 0.f}, {100.5f, 0.009f}, 0.01), "");
  EXPECT_NE(off({100.f, 0.f}, {102.f, 0.f}, 0.01), "");
  EXPECT_NE(off({100.f, 0.f}, {100.f, 0.02f}, 0.01), "");
  EXPECT_EQ(off({1, 2, 3, 5}, {1, 2, 3, 4}, 0), "x: 1 of 4 results differ from the peer's, by up to 0.25 (allowed: 0)");
}

TEST(Difference, NanOrSize_IsADifference) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_NE(off({nan}, {1}, 1e9), "");
  EXPECT_NE(off({1}, {nan}, 1e9), "");
  EXPECT_EQ(off({1}, {1, 2}, 1), "x: 1 results, the peer has 2");
  EXPECT_NE(off({}, {}, 1), "");
}

TEST(Difference, AFractionMayDiffer) {
  EXPECT_EQ(off({1, 2, 3, 5}, {1, 2, 3, 4}, 0, 0.25), "");
  EXPECT_NE(off({1, 2, 4, 5}, {1, 2, 3, 4}, 0, 0.25), "");
}

struct Shape {
  const char* name;
  const char* fault;
};
constexpr Shape kShapes[] = {{"right", ""}, {"wrong", "a: off by one"}};
int calls = 0;

struct Case {
  explicit Case(const Shape& s) : fault(s.fault) {}
  void run() { ++calls; }
  std::string disagreement() { return fault; }
  std::string label() const { return "label"; }
  double items() const { return 3; }
  static constexpr const char* kItems = "boxes/s";
  std::string fault;
};

class Collector : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>& reports) override { runs.insert(runs.end(), reports.begin(), reports.end()); }
  std::vector<Run> runs;
};

TEST(Add, WrongCase_IsErrorNotTimed) {
  for (const Shape& s : kShapes) add<Case>("op", s, "ours", &Case::run)->Iterations(5);
  Collector collector;
  benchmark::RunSpecifiedBenchmarks(&collector, "op/wrong");
  ASSERT_EQ(collector.runs.size(), 1u);
  EXPECT_TRUE(collector.runs[0].error_occurred);
  EXPECT_EQ(collector.runs[0].error_message, "a: off by one");
  EXPECT_EQ(calls, 0);
  benchmark::RunSpecifiedBenchmarks(&collector, "op/right");
  ASSERT_EQ(collector.runs.size(), 2u);
  EXPECT_FALSE(collector.runs[1].error_occurred);
  EXPECT_EQ(collector.runs[1].report_label, "label");
  EXPECT_EQ(collector.runs[1].counters.count("boxes/s"), 1u);
  EXPECT_EQ(calls, 5);
}

}  // namespace
}  // namespace ttt::micro
