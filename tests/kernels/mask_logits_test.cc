// The reference implementation of the mask head's end: against the definition in double precision, and its gradients
// against finite differences.
#include "kernels/mask_logits/mask_logits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/parallel.h"
#include "tests/kernels/mask_logits_inputs.h"

namespace ttt::kernels {
namespace {

// The logit of row m at pixel (y, x), written from the layers. Output (2 i + dy, 2 j + dx) of the transposed
// convolution is element (dy, dx) of the block of input pixel (i, j).
double logit(const MaskLogitsInputs& t, std::int64_t m, int y, int x) {
  const std::int64_t block = ((m * t.p.pooled + y / 2) * t.p.pooled + x / 2) * 4 + y % 2 * 2 + x % 2;
  const std::int32_t k = t.label[m];
  double sum = t.weight_bias[k];
  for (std::int64_t c = 0; c < t.p.channels; ++c)
    sum += std::max(0.0, static_cast<double>(t.blocks[block * t.p.channels + c]) + t.bias[c]) *
           t.weight[k * t.p.channels + c];
  return sum;
}
// Sum of logits times t.grad.
double loss(const MaskLogitsInputs& t) {
  const int side = 2 * t.p.pooled;
  double sum = 0;
  for (std::int64_t m = 0; m < t.p.rows; ++m)
    for (int y = 0; y < side; ++y)
      for (int x = 0; x < side; ++x) sum += logit(t, m, y, x) * t.grad[(m * side + y) * side + x];
  return sum;
}

class MaskLogits : public testing::TestWithParam<std::int64_t> {};
INSTANTIATE_TEST_SUITE_P(Channels, MaskLogits, testing::Values(1, 7, 64, 96, 256, 300));

TEST_P(MaskLogits, Forward_IsTheDefinition) {
  const MaskLogitsInputs t(GetParam());
  const int side = 2 * t.p.pooled;
  std::vector<float> got(t.grad.size(), kNan);
  host::mask_logits_forward(t.p, t.in(), t.weight_bias.data(), got.data());
  // Terms are at most 1.5, sums of them pairwise: an error of log2(C) + 3 roundings of the largest partial sum.
  const double tolerance = (std::log2(GetParam()) + 3) * 6e-8 * (1.5 * static_cast<double>(GetParam()) + 1);
  for (std::int64_t m = 0; m < t.p.rows; ++m)
    for (int y = 0; y < side; ++y)
      for (int x = 0; x < side; ++x)
        ASSERT_NEAR(got[(m * side + y) * side + x], logit(t, m, y, x), tolerance) << m << " " << y << " " << x;
}

// Where no ReLU is near its corner: the loss is linear in each single value but for corners, so a difference is exact
// but for rounding in double precision.
TEST_P(MaskLogits, Gradients_AreFiniteDifferences) {
  MaskLogitsInputs t(GetParam(), 4, 2);
  constexpr float kStep = 0.0625f;
  for (std::int64_t i = 0; i < std::ssize(t.blocks); ++i) {
    const std::int64_t c = i % t.p.channels;
    if (const float v = t.blocks[i] + t.bias[c]; std::abs(v) < 2 * kStep) t.blocks[i] += v < 0 ? -0.25f : 0.25f;
  }
  MaskLogitsGradients got(t.p);
  ThreadPool pool(2);
  host::mask_logits_backward(t.p, t.in(), t.grad.data(), got.out(), &pool);
  const auto expect = [&](std::vector<float>& values, const std::vector<float>& gradient, const char* what) {
    for (std::size_t i = 0; i<values.size(); i += values.size()> 512 ? 37 : 1) {
      const float was = values[i];
      values[i] = was + kStep;
      const double above = loss(t), high = values[i];
      values[i] = was - kStep;
      const double slope = (above - loss(t)) / (high - values[i]);
      values[i] = was;
      ASSERT_NEAR(gradient[i], slope, 2e-5) << what << " " << i;  // float32 sums of at most 64 terms up to 1.5
    }
  };
  expect(t.blocks, got.blocks, "blocks"), expect(t.bias, got.bias, "bias");
  expect(t.weight, got.weight, "weight"), expect(t.weight_bias, got.weight_bias, "weight_bias");
  for (std::int64_t c = 0; c < t.p.channels; ++c) EXPECT_EQ(got.weight[c], 0) << "class 0 has no row";
}

// The same bits for any number of threads, and a NaN shows.
TEST(MaskLogits, Threads_SameBits) {
  MaskLogitsInputs t(72, 9);
  t.blocks[100] = kNan;
  std::vector<float> one(t.grad.size()), many(one.size());
  MaskLogitsGradients of_one(t.p), of_many(t.p);
  ThreadPool pool(3);
  host::mask_logits_forward(t.p, t.in(), t.weight_bias.data(), one.data());
  host::mask_logits_forward(t.p, t.in(), t.weight_bias.data(), many.data(), &pool);
  EXPECT_EQ(0, std::memcmp(one.data(), many.data(), one.size() * sizeof(float)));
  EXPECT_EQ(1, std::count_if(one.begin(), one.end(), [](float v) { return std::isnan(v); }));
  host::mask_logits_backward(t.p, t.in(), t.grad.data(), of_one.out());
  host::mask_logits_backward(t.p, t.in(), t.grad.data(), of_many.out(), &pool);
  EXPECT_EQ(0, std::memcmp(of_one.weight.data(), of_many.weight.data(), of_one.weight.size() * sizeof(float)));
  EXPECT_EQ(of_one.bias, of_many.bias);
}

}  // namespace
}  // namespace ttt::kernels
