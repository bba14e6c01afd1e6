#include "result/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace ttt::result {
namespace {

constexpr int kShift = 21;                    // bits of a float32 below two of its mantissa
constexpr std::uint32_t kNegative = 1 << 10;  // the sign in what is left
constexpr std::uint32_t kInfinite = 255 << 2;
constexpr std::uint32_t kFirst = (127 - 40) << 2;  // of kSmallest
static_assert(HistogramBuilder::kSmallest == std::bit_cast<float>(kFirst << kShift));

// Where the bucket of a positive value begins; of kInfinite the largest number.
double begin_of(std::uint32_t bucket) {
  return bucket >= kInfinite ? std::numeric_limits<float>::max()
                             : static_cast<double>(std::bit_cast<float>(bucket << kShift));
}

}  // namespace

void HistogramBuilder::add(std::span<const float> values, float scale) {
  constexpr std::size_t kBlock = 1024;
  for (std::size_t i = 0; i < values.size(); i += kBlock)
    add_block(values.data() + i, std::min(kBlock, values.size() - i), scale);
}

void HistogramBuilder::add_block(const float* values, std::size_t n, float scale) {
  std::array<float, 1024> block;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const float v = values[i] * scale;
    block[kept] = v;
    kept += std::isfinite(v);
  }
  if (kept == 0) return;
  if (num_ == 0) min_ = max_ = block[0];
  // Eight sums side by side: one chain of additions would wait for itself.
  std::array<double, 8> sum{}, squares{};
  float least = block[0], most = block[0];
  for (std::size_t i = 0; i < kept; ++i) least = std::min(least, block[i]), most = std::max(most, block[i]);
  for (std::size_t i = 0; i < kept; ++i) {
    const double v = block[i];
    sum[i % 8] += v, squares[i % 8] += v * v;
  }
  for (std::size_t i = 0; i < kept; ++i) ++count_[std::bit_cast<std::uint32_t>(block[i]) >> kShift];
  for (int k = 0; k < 8; ++k) sum_ += sum[k], sum_squares_ += squares[k];
  min_ = std::min<double>(min_, least), max_ = std::max<double>(max_, most), num_ += static_cast<double>(kept);
}

Histogram HistogramBuilder::finish() const {
  Histogram h{.min = min_, .max = max_, .num = num_, .sum = sum_, .sum_squares = sum_squares_};
  const auto push = [&](double limit, std::uint64_t count) {
    h.limit.push_back(limit), h.count.push_back(static_cast<double>(count));
  };
  for (std::uint32_t b = kInfinite; b-- > kFirst;) push(-begin_of(b), count_[kNegative | b]);
  std::uint64_t tiny = 0;
  for (std::uint32_t b = 0; b < kFirst; ++b) tiny += count_[b] + count_[kNegative | b];
  push(kSmallest, tiny);
  for (std::uint32_t b = kFirst; b < kInfinite; ++b) push(begin_of(b + 1), count_[b]);
  std::size_t first = 0, last = h.count.size();
  while (first < last && h.count[first] == 0) ++first;
  while (last > first && h.count[last - 1] == 0) --last;
  h.limit = {h.limit.begin() + static_cast<std::ptrdiff_t>(first), h.limit.begin() + static_cast<std::ptrdiff_t>(last)};
  h.count = {h.count.begin() + static_cast<std::ptrdiff_t>(first), h.count.begin() + static_cast<std::ptrdiff_t>(last)};
  return h;
}

}  // namespace ttt::result
