// The CUDA kernel of offset, ReLU and max pooling against its reference implementation: to the bit.
#include "kernels/max_pool/max_pool.h"

#include <gtest/gtest.h>

#include <vector>

#include "same_bits.h"
#include "tests/kernels/inputs.h"

namespace ttt::kernels {
namespace {

template <class T>
void expect_pooled(const MaxPoolParams& p, const std::vector<T>& x, const std::vector<float>& offset) {
  std::vector<T> want(static_cast<std::size_t>(p.images * pooled_size(p.height) * pooled_size(p.width) * p.channels));
  host::offset_relu_pool<T>(p, x.data(), offset.data(), want.data());
  under_all_schedules([&] {
    auto from = input(x, "x");
    auto o = input(offset, "offset");
    auto y = output<T>(std::ssize(want), "y");
    cuda::offset_relu_pool<T>(p, from.get(), o.get(), y.get(), nullptr);
    expect_same_bits(want, y, "y");
  });
}

class MaxPool : public testing::TestWithParam<std::int64_t> {};
INSTANTIATE_TEST_SUITE_P(Channels, MaxPool, testing::Values(1, 8, 12, 64));

TEST_P(MaxPool, OddAndEvenSides_SameBits) {
  for (const std::int64_t height : {1, 2, 5, 8}) {
    const MaxPoolParams p{.images = 2, .height = height, .width = 11 - height, .channels = GetParam()};
    Stream s = stream(980 + static_cast<std::uint64_t>(height));
    std::vector<float> x = uniform(s, p.images * p.height * p.width * p.channels, -1, 1);
    x[x.size() / 2] = kNan;
    const std::vector<float> offset = uniform(s, p.channels, -1, 1);
    expect_pooled(p, x, offset);
    expect_pooled(p, narrow_all<Bfloat16>(x), offset);
    expect_pooled(p, narrow_all<Float16>(x), offset);
  }
}

}  // namespace
}  // namespace ttt::kernels
