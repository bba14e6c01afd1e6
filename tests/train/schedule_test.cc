#include <gtest/gtest.h>

#include "eval/mask_rcnn.h"
#include "run/recipe.h"
#include "tests/support/message_of.h"
#include "train/evaluation_plan.h"
#include "train/schedules/step_decay.h"

namespace ttt::train {
namespace {

TEST(Schedule, WarmUp_ThenHoldThenDecay) {
  const StepDecay s({.lr = 0.1, .warmup_steps = 10, .decay_steps = {20, 30}, .decay_factor = 0.5},
      {.global_batch = 8, .steps_per_epoch = 100});
  EXPECT_DOUBLE_EQ(s.lr(1), 0.01);
  EXPECT_DOUBLE_EQ(s.lr(5), 0.05);
  EXPECT_DOUBLE_EQ(s.lr(10), 0.1);
  EXPECT_DOUBLE_EQ(s.lr(20), 0.1);
  EXPECT_DOUBLE_EQ(s.lr(21), 0.05);
  EXPECT_DOUBLE_EQ(s.lr(31), 0.025);
}

// 10 steps an epoch: every 5 steps, and every second one once both metrics have 0.6 of 0.5.
TEST(EvaluationPlan, OftenNearTheTarget) {
  const result::Metrics target = {{"bbox_ap", 0.5}, {"segm_ap", 0.5}};
  const auto due = [&](const EvaluationPlan& plan, const std::optional<result::Evaluation>& last) {
    std::string steps;
    for (int step = 1; step <= 10; ++step)
      if (plan.due(step, last, target)) steps += std::to_string(step) + " ";
    return steps;
  };
  const auto evaluated = [](double box, double mask) {
    return result::Evaluation{.metrics = {{"bbox.AP", box}, {"segm.AP", mask}}};
  };
  const auto plan_of = [](double every, double every_near, double near, double from = 0) {
    return EvaluationPlan::of(
        {.eval_every_epochs = every, .eval_near_every_epochs = every_near, .eval_near = near, .eval_from_epochs = from},
        10);
  };
  const EvaluationPlan plan = plan_of(0.5, 0.2, 0.6);
  EXPECT_EQ(due(plan, std::nullopt), "5 10 ");
  EXPECT_EQ(due(plan, evaluated(0.4, 0.29)), "5 10 ");
  EXPECT_EQ(due(plan, evaluated(0.4, 0.31)), "2 4 5 6 8 10 ");
  EXPECT_EQ(due(plan_of(0.5, 0, 0.6), evaluated(0.4, 0.4)), "5 10 ");
  EXPECT_EQ(due(plan_of(0.2, 0, 0.6, 0.6), std::nullopt), "6 8 10 ");
  EXPECT_EQ(plan_of(0.001, 0, 1).every, 1);
}

TEST(Schedule, TakesTheReferencesAbsoluteSlope) {
  // MLPerf's mlperf_linear: lr = base - (warmup_iters - it) * factor, with the factor of a global batch of 96: 1.92e-4
  // over 625 iterations.
  const double base = 0.12, factor = 1.92e-4;
  const StepDecay s({.lr = base, .warmup_steps = 625, .warmup_start = 1 - 625 * factor / base},
      {.global_batch = 96, .steps_per_epoch = 1222});
  for (int it : {1, 100, 624}) EXPECT_NEAR(s.lr(it), base - (625 - it) * factor, 1e-15) << it;
}

TEST(Schedule, ScalesWithTheGlobalBatch) {
  EXPECT_DOUBLE_EQ(
      StepDecay({.lr = 0.02, .reference_batch = 16, .warmup_steps = 0}, {.global_batch = 64, .steps_per_epoch = 10})
          .lr(1),
      0.08);
  EXPECT_DOUBLE_EQ(StepDecay({.lr = 0.02, .warmup_steps = 0}, {.global_batch = 64, .steps_per_epoch = 10}).lr(1), 0.02);
}

TEST(Schedule, DecaysByEpochs) {
  const StepDecay s({.lr = 1, .warmup_steps = 0, .decay_epochs = {1.5}, .decay_factor = 0.1},
      {.global_batch = 8, .steps_per_epoch = 10});
  EXPECT_DOUBLE_EQ(s.lr(15), 1);
  EXPECT_DOUBLE_EQ(s.lr(16), 0.1);
}

TEST(Recipe, ContradictingSettings_AreNamed) {
  const auto refusal = [](auto change) {
    Recipe recipe(eval::mask_rcnn());
    change(recipe);
    return test::message_of<UsageError>([&] { check(recipe); });
  };
  EXPECT_NO_THROW(check(Recipe(eval::mask_rcnn())));
  const auto says = [&](const std::string& words, auto change) {
    const std::string message = refusal(change);
    EXPECT_NE(message.find(words), std::string::npos) << message;
  };
  says("train.schedule.decay_steps and train.schedule.decay_epochs are both set",
      [](Recipe& r) { r.train.schedule.decay_steps = {5}, r.train.schedule.decay_epochs = {1}; });
  says("must ascend", [](Recipe& r) { r.train.schedule.decay_steps = {5, 3}; });
  says("must ascend", [](Recipe& r) { r.train.schedule.decay_epochs = {5, 3}; });
  says("data.long_side = 3 is smaller than data.short_side = 5",
      [](Recipe& r) { r.data.short_side = 5, r.data.long_side = 3; });
  says("model.rpn.match_low is above model.rpn.match_high",
      [](Recipe& r) { r.model.as<model::ModelConfig>().rpn.match_low = 0.8; });
  says("data.mean and data.std", [](Recipe& r) { r.data.mean = {0, 0}; });
}

}  // namespace
}  // namespace ttt::train
