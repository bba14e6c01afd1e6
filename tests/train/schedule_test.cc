#include "train/schedules/step_decay.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace ttt::train {
namespace {

TEST(Schedule, WarmsUpLinearlyThenHoldsThenDecays) {
  const StepDecay s({.lr = 0.1, .warmup_steps = 10, .decay_steps = {20, 30}, .decay_factor = 0.5}, {.global_batch = 8, .steps_per_epoch = 100});
  EXPECT_DOUBLE_EQ(s.lr(1), 0.01);
  EXPECT_DOUBLE_EQ(s.lr(5), 0.05);
  EXPECT_DOUBLE_EQ(s.lr(10), 0.1);
  EXPECT_DOUBLE_EQ(s.lr(20), 0.1);
  EXPECT_DOUBLE_EQ(s.lr(21), 0.05);
  EXPECT_DOUBLE_EQ(s.lr(31), 0.025);
}

TEST(Schedule, TakesTheReferencesAbsoluteSlope) {
  // MLPerf's mlperf_linear: lr = base - (warmup_iters - it) * factor, with the factor of a global batch of 96: 1.92e-4 over 625 iterations.
  const double base = 0.12, factor = 1.92e-4;
  const StepDecay s({.lr = base, .warmup_steps = 625, .warmup_start = 1 - 625 * factor / base}, {.global_batch = 96, .steps_per_epoch = 1222});
  for (int it : {1, 100, 624}) EXPECT_NEAR(s.lr(it), base - (625 - it) * factor, 1e-15) << it;
}

TEST(Schedule, ScalesWithTheGlobalBatch) {
  EXPECT_DOUBLE_EQ(StepDecay({.lr = 0.02, .reference_batch = 16, .warmup_steps = 0}, {.global_batch = 64, .steps_per_epoch = 10}).lr(1), 0.08);
  EXPECT_DOUBLE_EQ(StepDecay({.lr = 0.02, .warmup_steps = 0}, {.global_batch = 64, .steps_per_epoch = 10}).lr(1), 0.02);
}

TEST(Schedule, DecaysByEpochs) {
  const StepDecay s({.lr = 1, .warmup_steps = 0, .decay_epochs = {1.5}, .decay_factor = 0.1}, {.global_batch = 8, .steps_per_epoch = 10});
  EXPECT_DOUBLE_EQ(s.lr(15), 1);
  EXPECT_DOUBLE_EQ(s.lr(16), 0.1);
}

TEST(Schedule, RefusesBothKindsOfDecay) { EXPECT_THROW(StepDecay({.decay_steps = {5}, .decay_epochs = {1.0}}, {.global_batch = 8, .steps_per_epoch = 10}), UsageError); }

}  // namespace
}  // namespace ttt::train
