// Averages of weights against the closed form of their recursion.
#include "measure/averaged_weights.h"

#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "models/parameters.h"

namespace ttt::ablations {
namespace {

// Of value t out of `updates`: proportional to t (t + 1) ... (t + n - 1), which is what moving by (n + 1) / (t + n)
// comes to (Shamir and Zhang 2013, section 4).
double weight(int t) {
  double w = 1;
  for (int i = 0; i < static_cast<int>(AveragedWeights::kDecay); ++i) w *= t + i;
  return w;
}

TEST(AveragedWeights, EvaluatedInPlace_ClosedForm) {
  model::ParameterStore store(1);
  store.add("w", {2, 3}, model::constant(0));
  model::Parameter* running = store.add_buffer("running", {3}, 0);
  store.finalise(at::kCPU);
  AveragedWeights averages(store);
  const at::NoGradGuard no_grad;
  double total = 0, w_sum = 0, running_sum = 0;
  for (int t = 1; t <= 50; ++t) {
    store.flat_values().fill_(t * t), running->value.fill_(-t);
    averages.step_ended({}, {});
    total += weight(t), w_sum += weight(t) * t * t, running_sum -= weight(t) * t;
    if (t % 20 != 0) continue;
    averages.evaluation_started({});
    // fp32: 50 moves, each with a rounding of half a unit in the last place
    EXPECT_NEAR(store.flat_values()[5].item<float>(), w_sum / total, 50 * 6e-8 * t * t) << t;
    EXPECT_NEAR(running->value[2].item<float>(), running_sum / total, 50 * 6e-8 * t) << t;
    averages.evaluation_predicted({}, true);
    EXPECT_EQ(store.flat_values()[5].item<float>(), t * t) << "training goes on with the newest weights";
    EXPECT_EQ(running->value[2].item<float>(), -t);
  }
}

}  // namespace
}  // namespace ttt::ablations
