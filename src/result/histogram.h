// How often values of a size occur: histograms of gradients and weights, whose sizes range over many orders of
// magnitude.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace ttt::result {

// TensorBoard's: count[i] values lie between limit[i - 1] and limit[i]; the first bucket begins at min, the last ends
// at max.
struct Histogram {
  double min = 0, max = 0, num = 0, sum = 0, sum_squares = 0;
  std::vector<double> limit, count;  // of equal length; neither the first nor the last count is 0
};

// Counts float32 values in four buckets for each power of two, the same for negative values. The bucket is the upper
// bits of the number, so a value costs a shift and an addition. What is smaller than kSmallest lies in one bucket
// around zero. A bucket holds its end that is nearer to zero. Numbers that are not finite are left out.
class HistogramBuilder {
 public:
  static constexpr double kSmallest = 0x1p-40;

  void add(std::span<const float> values, float scale = 1);  // values * scale, rounded to float32
  Histogram finish() const;

 private:
  void add_block(const float* values, std::size_t count, float scale);

  std::array<std::uint64_t, 2048> count_{};  // by sign, exponent and two bits of the mantissa
  double min_ = 0, max_ = 0, num_ = 0, sum_ = 0, sum_squares_ = 0;
};

}  // namespace ttt::result
