// Histograms: every value is in the bucket that its size says. tests/telemetry/events.py compares with numpy.
#include "result/histogram.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "core/rng.h"

namespace ttt::result {
namespace {

TEST(Histogram, CountsWhatLiesBetweenItsLimits) {
  std::vector<float> values;
  Stream random(1);
  for (int i = 0; i < 20000; ++i)
    values.push_back(static_cast<float>(random.uniform(-1, 1) * std::exp2(random.uniform(-60, 20))));
  for (int i = 0; i < 100; ++i) values.push_back(0);
  HistogramBuilder builder;
  builder.add(std::span(values).first(7));  // in pieces of any size
  builder.add(std::span(values).subspan(7));
  const Histogram h = builder.finish();
  ASSERT_EQ(h.limit.size(), h.count.size());
  std::vector<double> expected(h.count.size(), 0.0);
  for (const float v : values) {
    std::size_t b = 0;
    // A bucket holds its end that is nearer to zero; the one around zero neither.
    while (b + 1 < h.limit.size() && !(v < 0 ? v <= h.limit[b] : v < h.limit[b])) ++b;
    ++expected[b];
  }
  EXPECT_EQ(h.count, expected);
  EXPECT_TRUE(std::is_sorted(h.limit.begin(), h.limit.end()));
  EXPECT_EQ(h.num, 20100);
  EXPECT_EQ(h.min, *std::min_element(values.begin(), values.end()));
  EXPECT_EQ(h.max, *std::max_element(values.begin(), values.end()));
  double sum = 0, squares = 0;
  for (const double v : values) sum += v, squares += v * v;
  EXPECT_NEAR(h.sum, sum, 1e-9 * std::sqrt(squares * 20100));
  EXPECT_NEAR(h.sum_squares, squares, 1e-9 * squares);
}

TEST(Histogram, NotFinite_IsLeftOut) {
  const std::vector<float> values = {
      1, -2, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN(), 3e38f};
  HistogramBuilder half;
  half.add(values, 0.5f);
  const Histogram h = half.finish();
  EXPECT_EQ(h.num, 3);
  EXPECT_EQ(h.min, -1);
  EXPECT_EQ(h.max, 1.5e38f);
  EXPECT_EQ(std::accumulate(h.count.begin(), h.count.end(), 0.0), 3);
  EXPECT_GE(h.limit.back(), h.max);
  HistogramBuilder twice;
  twice.add(values, 2);  // 6e38 is beyond float32
  EXPECT_EQ(twice.finish().num, 2);
}

TEST(Histogram, OfNothingAndOfOneValue) {
  EXPECT_TRUE(HistogramBuilder().finish().limit.empty());
  HistogramBuilder zeros;
  zeros.add(std::vector<float>(5));
  const Histogram h = zeros.finish();
  EXPECT_EQ(h.count, std::vector<double>{5});
  EXPECT_EQ(h.limit, std::vector<double>{HistogramBuilder::kSmallest});
}

}  // namespace
}  // namespace ttt::result
