// Updates of the flat parameters: SGD, Adam, rounding to 16 bits, gradients that are not finite.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <vector>

#include "guarded.h"
#include "inputs.h"
#include "kernels/adam/adam.h"
#include "kernels/nonfinite/nonfinite.h"
#include "kernels/round_bfloat16/round_bfloat16.h"
#include "kernels/sgd/sgd.h"

namespace ttt::kernels {
namespace {

TEST(Sgd, GradScale_FirstInRangeOnly) {
  for (const std::int64_t n : {0, 1, 15, 16, 17, 1000}) {
    Guarded<float> weight(n), momentum(n), halved(n), other(n);
    std::vector<float> grad(n), half(n);
    for (std::int64_t i = 0; i < n; ++i)
      weight[i] = halved[i] = i, momentum[i] = other[i] = 1, grad[i] = i % 7, half[i] = 0.5f * grad[i];
    host::sgd({.lr = 0.1f, .weight_decay = 0.01f, .grad_scale = 0.5f}, n, grad.data(), momentum.get(), weight.get());
    host::sgd({.lr = 0.1f, .weight_decay = 0.01f}, n, half.data(), other.get(), halved.get());
    EXPECT_TRUE(weight.same(halved) && momentum.same(other));
    // v = 0.9 + g / 2 + 0.01 w; w - 0.1 v, in double; a few units of roundoff at 1000.
    for (std::int64_t i = 0; i < n; ++i)
      ASSERT_NEAR(weight[i], i - 0.1 * (0.9 + 0.5 * (i % 7) + 0.01 * i), 4 * 1000 * 0x1p-24);
  }
}

TEST(Sgd, RatesFromMemory_EqualFlatRanges) {
  const std::vector<float> grad = {1, 2, 3, 4, 5};
  for (const std::int32_t skip : {0, 1}) {
    std::vector<float> momentum(5, 1), weight(5, 10), want_momentum = momentum, want_weight = weight;
    if (skip == 0) {
      host::sgd({.lr = 0.2f, .momentum = 0.5f, .weight_decay = 0.01f, .grad_scale = 0.25f}, 3, grad.data(),
          want_momentum.data(), want_weight.data());
      host::sgd({.lr = 0.1f, .momentum = 0.5f, .weight_decay = 0, .grad_scale = 0.25f}, 2, grad.data() + 3,
          want_momentum.data() + 3, want_weight.data() + 3);
    }
    const SgdTensor tensors[] = {{grad.data(), momentum.data(), weight.data(), 3, 2, 0.01f},
        {grad.data() + 3, momentum.data() + 3, weight.data() + 3, 2, 1, 0}};
    const float rates[] = {0.1f, 0.25f};
    host::sgd({.momentum = 0.5f}, tensors, 2, 3, {rates, rates + 1, &skip});
    EXPECT_EQ(momentum, want_momentum);
    EXPECT_EQ(weight, want_weight);
  }
}

TEST(Sgd, Factors_ScaleGradientAndDecay) {
  const float grad[] = {1, 2, 3}, rates[] = {0.1f, 0.5f};
  const SgdFactors factors[] = {{7, 7}, {4, 20}};
  float momentum[] = {1, 1, 1}, weight[] = {10, 20, 30};
  const SgdTensor tensors[] = {{grad, momentum, weight, 3, 1, 0.01f, 1}};
  host::sgd({.momentum = 0.5f, .nesterov = true}, tensors, 1, 3, {rates, rates + 1, nullptr, factors});
  for (int i = 0; i < 3; ++i) {
    // g = 4 (g / 2) + 20 0.01 w; v = 0.5 + g; w - 0.1 (g + v / 2). In double; a few units of roundoff at 30.
    const double g = 4 * 0.5 * grad[i] + 0.2 * (10 + 10 * i), v = 0.5 + g;
    EXPECT_NEAR(momentum[i], v, 4 * 30 * 0x1p-24);
    EXPECT_NEAR(weight[i], 10 + 10 * i - 0.1 * (g + 0.5 * v), 4 * 30 * 0x1p-24);
  }
}

// Of sizes with and without a rest of a vector, against the formulas in double.
TEST(Adam, UpdateAndDirection_EqualFormulas) {
  const AdamRule rule{.beta1 = 0.8, .beta2 = 0.95, .eps = 1e-3};
  const float rates[] = {0.1f, 0.5f}, correction[] = {2, 3};
  for (const std::int64_t n : {0, 1, 15, 16, 17, 1000}) {
    Stream s = stream(70 + static_cast<std::uint64_t>(n));
    const std::vector<float> grad = uniform(s, n, -1, 1), first = uniform(s, n, -1, 1), second = uniform(s, n, 0, 1),
                             weight = uniform(s, n, -1, 1);
    for (const bool direction : {false, true}) {
      Guarded<float> m(n), v(n), w(n), d(n);
      for (std::int64_t i = 0; i < n; ++i) m[i] = first[i], v[i] = second[i], w[i] = weight[i], d[i] = -7;
      const AdamTensor tensors[] = {
          {grad.data(), m.get(), v.get(), w.get(), direction ? d.get() : nullptr, n, 2, 0.25f}};
      host::adam(rule, tensors, 1, n, {rates, rates + 1, correction, nullptr});
      for (std::int64_t i = 0; i < n; ++i) {
        const double g = 0.5 * grad[i], to = 0.8 * first[i] + 0.2 * g, square = 0.95 * second[i] + 0.05 * g * g;
        const double u = 2 * to / (3 * std::sqrt(square) + 1e-3);
        // Roundings of values below 1 in the moments, then of a quotient by at least 1e-3.
        ASSERT_NEAR(m[i], to, 4 * 0x1p-24);
        ASSERT_NEAR(v[i], square, 4 * 0x1p-24);
        const double error = 16 * 0x1p-24 * (1 + std::abs(u)) * (1 + 1 / (3 * std::sqrt(square) + 1e-3));
        if (direction) {
          ASSERT_NEAR(d[i], u + 0.25 * weight[i], error);
          ASSERT_EQ(w[i], weight[i]);
        } else {
          ASSERT_NEAR(w[i], weight[i] * (1 - 0.2 * 0.25) - 0.2 * u, error);
          ASSERT_EQ(d[i], -7);
        }
      }
    }
  }
}

TEST(Nonfinite, OneBadGradient_Found) {
  for (const float bad : {kNan, -kNan, kInf, -kInf, 3.4e38f, -1e-45f})
    for (const std::size_t at : {0, 7, 30}) {
      std::vector<float> values(31, -1e30f);
      values[at] = bad;
      std::int32_t found = 0;
      host::find_nonfinite(values.data(), 31, &found);
      EXPECT_EQ(found, !std::isfinite(bad)) << bad;
    }
}

float rounded(Rounding mode, float value, float update = 1, std::uint64_t key = 1) {
  host::round_bfloat16(mode, key, &update, 1, &value);
  return value;
}

TEST(RoundBfloat16, NearestAndTowardZero_KnownValues) {
  // Of bfloat16 the neighbours of 1 are 1 - 2^-8 and 1 + 2^-7.
  EXPECT_EQ(rounded(Rounding::kNearestEven, 1 + 0x1p-8f), 1);  // in the middle: the even one
  EXPECT_EQ(rounded(Rounding::kNearestEven, 1 + 0x1p-8f + 0x1p-20f), 1 + 0x1p-7f);
  EXPECT_EQ(rounded(Rounding::kNearestEven, 1 + 3 * 0x1p-8f), 1 + 0x1p-6f);
  EXPECT_EQ(rounded(Rounding::kTowardZero, 1 + 0x1p-7f - 0x1p-20f), 1);
  EXPECT_EQ(rounded(Rounding::kTowardZero, -1 - 0x1p-7f + 0x1p-20f), -1);
  EXPECT_EQ(rounded(Rounding::kNearestEven, 3.4028e38f), kInf);
  EXPECT_LT(rounded(Rounding::kTowardZero, 3.4028e38f), kInf);
  for (const Rounding mode : {Rounding::kNearestEven, Rounding::kTowardZero, Rounding::kStochastic}) {
    EXPECT_TRUE(std::isnan(rounded(mode, std::bit_cast<float>(0x7F800001u))));  // its lowest bit alone says so
    EXPECT_EQ(rounded(mode, -kInf), -kInf);
    EXPECT_EQ(rounded(mode, 1.5f), 1.5f);
  }
}

TEST(RoundBfloat16, Stochastic_MeanIsTheValue) {
  // A quarter of the way: of 40,000 draws a quarter is rounded up, within five standard deviations.
  constexpr int kDraws = 40'000;
  int up = 0;
  std::vector<float> values(kDraws, 1 + 0x1p-9f);
  const float update = 3;
  host::round_bfloat16(Rounding::kStochastic, 5, &update, kDraws, values.data());
  for (const float v : values) up += v > 1;
  EXPECT_NEAR(up, kDraws / 4, 5 * std::sqrt(kDraws * 0.25 * 0.75));
  std::vector<float> again(kDraws, 1 + 0x1p-9f), next = again;
  host::round_bfloat16(Rounding::kStochastic, 5, &update, kDraws, again.data());
  EXPECT_EQ(again, values);
  const float later = 4;
  host::round_bfloat16(Rounding::kStochastic, 5, &later, kDraws, next.data());
  EXPECT_NE(next, values);
}

}  // namespace
}  // namespace ttt::kernels
