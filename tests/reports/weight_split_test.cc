// The split of a norm's growth, of weights that SGD moves here.
#include "reports/weight_split.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/toy_record.h"

namespace ttt::reports {
namespace {

constexpr double kRate = 0.001, kDecay = 0.02, kMomentum = 0.9;

// One weight vector of two numbers. Its gradient is `outward` times the weights and a part across them.
result::RunRecord moved(double outward, int steps) {
  result::RunRecord r = test::toy_record();
  r.recipe.settings["train"]["optimizer"] = {{"kind", "sgd"}, {"momentum", kMomentum}, {"weight_decay", kDecay}};
  r.steps.truncate(0);
  result::TelemetrySeries t{.every_steps = 1, .groups = {{.name = "all", .parameters = 2}}};
  double w[2] = {3, 4}, v[2] = {};
  for (int i = 0; i < steps; ++i) {
    result::StepSample step = test::toy_step(i);
    step.learning_rate = kRate;
    r.steps.add(step);
    const double g[2] = {outward * w[0] - 0.1 * w[1], outward * w[1] + 0.1 * w[0]};
    const double product = w[0] * g[0] + w[1] * g[1];
    double square = 0;
    for (int k = 0; k < 2; ++k) {
      v[k] = kMomentum * v[k] + g[k] + kDecay * w[k];
      w[k] -= kRate * v[k];
      square += kRate * v[k] * kRate * v[k];
    }
    t.add({.step = i,
        .gradient_norm = {1},
        .weight_norm = {std::hypot(w[0], w[1])},
        .update_norm = {std::sqrt(square)},
        .weight_gradient = {product}});
  }
  r.telemetry = std::move(t);
  return r;
}

TEST(WeightSplit, PartsAddUpToTheGrowth) {
  for (const double outward : {-0.05, 0.03}) {
    const result::RunRecord r = moved(outward, 2000);
    const auto split = weight_split(r, r.telemetry->groups[0]);
    ASSERT_TRUE(split.has_value());
    EXPECT_NEAR(split->gradient, -outward * kRate / (1 - kMomentum), 1e-6);
    EXPECT_NEAR(split->decay, -kDecay * kRate / (1 - kMomentum), 1e-12);
    EXPECT_GT(split->length, 0);
    // The norm changes by 0.05 % a step and turns by 0.1 %, while the momentum remembers ten: 1.5 % of the growth.
    const double sum = split->gradient + split->decay + split->length;
    EXPECT_NEAR(sum, split->measured, 0.015 * std::abs(split->measured));
  }
}

TEST(WeightSplit, OtherOptimizersHaveNone) {
  result::RunRecord r = moved(0.03, 20);
  ASSERT_TRUE(split_table(r).has_value());
  r.recipe.settings["train"]["optimizer"]["kind"] = "adamw";
  EXPECT_FALSE(split_table(r).has_value());
  r.recipe.settings["train"]["optimizer"]["kind"] = "sgd";
  r.recipe.settings["train"]["optimizer"]["nesterov"] = true;
  EXPECT_FALSE(split_table(r).has_value());
  r = moved(0.03, 20);
  r.telemetry->groups[0].weight_gradient.clear();  // not asked for
  EXPECT_FALSE(split_table(r).has_value());
}

}  // namespace
}  // namespace ttt::reports
