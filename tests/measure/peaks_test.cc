// Peaks that no machine has are refused; those of this machine are not.
#include "measure/peaks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/error.h"

namespace ttt::roofline {
namespace {

using result::Peak;

std::string refusal(const std::string& unit, std::vector<double> samples, int ranks = 1) {
  try {
    check_peaks({{"good", "B/s", "", 1, {1e10}}, {"bad", unit, "", 1, std::move(samples)}}, ranks);
  } catch (const Incorrect& e) { return e.what(); }
  return "";
}

TEST(Peaks, ImpossibleRatesAreRefusedByName) {
  EXPECT_EQ(refusal("B/s", {9e12}), "");
  EXPECT_EQ(refusal("flop/s", {9e14}), "");
  EXPECT_EQ(refusal("B/s", {11e12}, 2), "");
  EXPECT_EQ(refusal("B/s", {1e10, 11e12, 1e10}),
      "The peak bad was measured as 1.1e+13 B/s, which no machine has: its clock or its work is wrong. Run it "
      "again; report it if it stays.");
  for (const double rate : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_NE(refusal("B/s", {1e10, rate}), "") << rate;
    EXPECT_NE(refusal("flop/s", {rate}), "") << rate;
  }
  EXPECT_NE(refusal("flop/s", {1.1e15}), "");
  EXPECT_NE(refusal("B/s", {}), "");
}

TEST(Peaks, OneRank_NoAllReducePeak) {
  const auto comm = comm::make_single();
  const std::vector<Peak> peaks = measure_peaks(*comm, {.seconds_each = 0.02});
  std::vector<std::string> names;
  for (const Peak& p : peaks) {
    names.push_back(p.name);
    EXPECT_GE(p.samples.size(), 3u) << p.name;
    EXPECT_GT(p.per_call, 0) << p.name;
  }
  EXPECT_EQ(names, (std::vector<std::string>{"matrix_multiply", "convolution", "memory_copy", "memory_triad"}));
  EXPECT_THROW(measure_peaks(*comm, {.seconds_each = 0}), UsageError);
}

}  // namespace
}  // namespace ttt::roofline
