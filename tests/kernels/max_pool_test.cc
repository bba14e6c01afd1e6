// The reference implementation of offset, ReLU and max pooling against its definition, pixel by pixel.
#include "kernels/max_pool/max_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/parallel.h"
#include "tests/kernels/inputs.h"

namespace ttt::kernels {
namespace {

// Behind offset and ReLU, padded by one pixel of minus infinity.
float pooled(const MaxPoolParams& p, const std::vector<float>& x, float offset, std::int64_t n, std::int64_t i,
    std::int64_t j, std::int64_t c) {
  float most = -kInf;
  for (std::int64_t y = 2 * i - 1; y <= 2 * i + 1; ++y)
    for (std::int64_t u = 2 * j - 1; u <= 2 * j + 1; ++u)
      if (y >= 0 && u >= 0 && y < p.height && u < p.width)
        most = std::max(most, std::max(0.0f, x[((n * p.height + y) * p.width + u) * p.channels + c] + offset));
  return most;
}

TEST(MaxPool, OddAndEvenSides_EqualDefinition) {
  ThreadPool pool(2);
  for (const auto& [height, width] :
      std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 1}, {2, 5}, {7, 8}, {9, 3}}) {
    const MaxPoolParams p{.images = 2, .height = height, .width = width, .channels = 5};
    Stream s = stream(990 + static_cast<std::uint64_t>(height));
    const std::vector<float> x = uniform(s, 2 * height * width * 5, -1, 1), offset = uniform(s, 5, -1, 1);
    std::vector<float> y(static_cast<std::size_t>(2 * ((height + 1) / 2) * ((width + 1) / 2) * 5), kNan);
    host::offset_relu_pool<float>(p, x.data(), offset.data(), y.data(), &pool);
    std::size_t at = 0;
    for (std::int64_t n = 0; n < 2; ++n)
      for (std::int64_t i = 0; i < (height + 1) / 2; ++i)
        for (std::int64_t j = 0; j < (width + 1) / 2; ++j)
          for (std::int64_t c = 0; c < 5; ++c, ++at)
            ASSERT_EQ(y[at], pooled(p, x, offset[c], n, i, j, c)) << height << " " << i << " " << j;
  }
}

TEST(MaxPool, NanInput_StaysNan) {
  const MaxPoolParams p{.images = 1, .height = 3, .width = 3, .channels = 1};
  for (std::size_t at = 0; at < 9; ++at) {
    std::vector<float> x(9, 1.0f), y(4);
    x[at] = kNan;
    const float offset = 0;
    host::offset_relu_pool<float>(p, x.data(), &offset, y.data());
    EXPECT_GE(std::count_if(y.begin(), y.end(), [](float v) { return std::isnan(v); }), 1) << at;
  }
}

}  // namespace
}  // namespace ttt::kernels
