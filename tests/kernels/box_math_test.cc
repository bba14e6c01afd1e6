// The exponential and the logarithm of kernels/common/box_math.h against libm's in double precision.
#include "kernels/common/box_math.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace ttt::kernels {
namespace {

// In units in the last place of float32, where the result is; below the normal numbers, of those.
double units_off(float got, double want) {
  int exponent = 0;
  std::frexp(want, &exponent);
  return std::fabs(static_cast<double>(got) - want) / std::ldexp(1.0, std::max(exponent - 24, -149));
}

// Every 997th positive number, denormal ones too, and its negative.
template <class Visit>
void for_many(const Visit& visit) {
  for (std::uint32_t bits = 1; bits < 0x7F800000u; bits += 997) visit(std::bit_cast<float>(bits));
}

// Half a unit is the last rounding; the other half is the sum of those before.
TEST(BoxMath, Exp_WithinOneUlp) {
  double worst = 0;
  for_many([&](float x) {
    for (const float v : {x, -x})
      if (v < 88.72f && v > -86) worst = std::max(worst, units_off(exp_of(v), std::exp(static_cast<double>(v))));
  });
  EXPECT_LT(worst, 1.0);
  EXPECT_GT(worst, 0.5);  // else nothing was compared
}

TEST(BoxMath, Log_WithinOneUlp) {
  double worst = 0;
  for_many([&](float x) { worst = std::max(worst, units_off(log_of(x), std::log(static_cast<double>(x)))); });
  EXPECT_LT(worst, 1.0);
  EXPECT_GT(worst, 0.5);
}

TEST(BoxMath, ExtremeArguments_GiveLimits) {
  constexpr float kInf = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(exp_of(0), 1.0f);
  EXPECT_EQ(exp_of(-kInf), 0.0f);
  EXPECT_EQ(exp_of(-200), 0.0f);
  EXPECT_LT(exp_of(-85.9f), 5e-38f);
  EXPECT_EQ(exp_of(kInf), kInf);
  EXPECT_EQ(exp_of(88.8f), kInf);
  EXPECT_TRUE(std::isnan(exp_of(kNan)));
  EXPECT_EQ(log_of(1), 0.0f);
  EXPECT_EQ(log_of(0), -kInf);
  EXPECT_EQ(log_of(kInf), kInf);
  EXPECT_TRUE(std::isnan(log_of(-1)));
  EXPECT_TRUE(std::isnan(log_of(kNan)));
}

}  // namespace
}  // namespace ttt::kernels
