// Reductions of planted numbers, some of them not finite, over groups whose parameters do not lie side by side.
#include "telemetry/reductions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace ttt::train {
namespace {

TEST(Reductions, PlantedNumbers) {
  model::ParameterStore store(1);
  for (const char* name : {"a", "b", "c"}) store.add(name, {2}, model::constant(0));
  store.finalise(at::kCPU);
  constexpr float kInf = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
  const float weights[] = {1, -2, 3, 4, -5, 7}, gradients[] = {1, kInf, 2, -2, kNan, -3};
  std::copy_n(weights, 6, store.flat_values().data_ptr<float>());
  std::copy_n(gradients, 6, store.flat_gradients().data_ptr<float>());
  const LayerGroup groups[] = {
      {.name = "outer", .ranges = {{4, 6}, {0, 2}}}, {.name = "inner", .ranges = {{2, 3}, {3, 4}}}};
  const Reductions reductions(store, groups, {"l1", "mean", "std", "min", "max", "nonfinite"});
  // Of the outer gradients 1, 0, 0, -3 count, twice as large.
  const double outer_std = 2 * std::sqrt((1 + 9) / 4.0 - 0.25),
               outer_weight_std = std::sqrt((1 + 4 + 25 + 49) / 4.0 - 0.0625);
  const std::vector<double> wanted = {8, -1, outer_std, -6, 2, 2, 15, 0.25, outer_weight_std, -5, 7, 0,  //
      8, 0, 4, -4, 4, 0, 7, 3.5, 0.5, 3, 4, 0};
  const std::vector<double> found = reductions.take(2);
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(found[i], wanted[i], 1e-6) << i;
}

}  // namespace
}  // namespace ttt::train
