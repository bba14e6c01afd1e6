#include "train/schedules/schedule.h"

#include <gtest/gtest.h>

#include "eval/mask_rcnn.h"
#include "run/recipe.h"
#include "tests/support/message_of.h"
#include "train/evaluation_plan.h"

namespace ttt::train {
namespace {

TEST(Schedule, WarmUp_ThenHoldThenDecay) {
  const auto s = make_schedule({.lr = 0.1, .warmup_steps = 10, .decay_steps = {20, 30}, .decay_factor = 0.5},
      {.global_batch = 8, .epochs = 100});
  EXPECT_DOUBLE_EQ(s->lr(1), 0.01);
  EXPECT_DOUBLE_EQ(s->lr(5), 0.05);
  EXPECT_DOUBLE_EQ(s->lr(10), 0.1);
  EXPECT_DOUBLE_EQ(s->lr(19), 0.1);
  EXPECT_DOUBLE_EQ(s->lr(20), 0.05);
  EXPECT_DOUBLE_EQ(s->lr(30), 0.025);
}

constexpr std::int64_t kWarmup = 10, kSteps = 110;

std::unique_ptr<Schedule> of_kind(const std::string& kind, double final_fraction, double power = 2) {
  return make_schedule({.kind = kind,
                           .lr = 0.4,
                           .warmup_steps = kWarmup,
                           .warmup_start = 0.25,
                           .final_fraction = final_fraction,
                           .power = power},
      {.epochs = 11, .total_steps = kSteps});
}

// The values of every iteration are torch's (tests/train/schedules.py); these are the promises of a name.
TEST(Schedule, EveryKind_FallsToItsEnd) {
  for (const std::string kind : {"cosine", "linear", "poly"}) {
    const auto s = of_kind(kind, 0.05);
    for (std::int64_t i = 1; i <= kWarmup; ++i)
      EXPECT_DOUBLE_EQ(s->lr(i), 0.4 * (0.25 + 0.75 * static_cast<double>(i) / kWarmup)) << kind << i;
    for (std::int64_t i = kWarmup + 1; i <= kSteps; ++i) EXPECT_LT(s->lr(i), s->lr(i - 1)) << kind << i;
    EXPECT_NEAR(s->lr(kSteps), 0.4 * 0.05, 1e-15) << kind;
    EXPECT_NEAR(s->lr(kSteps + 5), 0.4 * 0.05, 1e-15) << kind;  // a run that goes on ends where it ended
  }
  const std::int64_t middle = (kWarmup + kSteps) / 2;
  EXPECT_NEAR(of_kind("cosine", 0)->lr(middle), 0.2, 1e-15);
  EXPECT_NEAR(of_kind("linear", 0)->lr(middle), 0.2, 1e-15);
  EXPECT_NEAR(of_kind("poly", 0)->lr(middle), 0.1, 1e-15);
  EXPECT_NEAR(of_kind("poly", 0, 3)->lr(middle), 0.05, 1e-15);
}

TEST(Schedule, StepDecay_HasAFloor) {
  const auto s =
      make_schedule({.lr = 1, .warmup_steps = 0, .decay_steps = {2, 3, 4}, .final_fraction = 0.05}, {.total_steps = 9});
  EXPECT_DOUBLE_EQ(s->lr(1), 1);
  EXPECT_DOUBLE_EQ(s->lr(2), 0.1);
  EXPECT_DOUBLE_EQ(s->lr(3), 0.05);
  EXPECT_DOUBLE_EQ(s->lr(4), 0.05);
}

// A warm-up longer than the run never ends, and the rate does not fall.
TEST(Schedule, EndlessWarmUp) {
  const auto s = make_schedule({.kind = "cosine", .lr = 1, .warmup_steps = 100}, {.total_steps = 50});
  EXPECT_DOUBLE_EQ(s->lr(50), 0.5);
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
  EXPECT_EQ(due(plan_of(0.001, 0, 1), std::nullopt), "1 2 3 4 5 6 7 8 9 10 ");
}

// One epoch of 10 steps, then epochs of 5: the rate of the batch rule at twice the batch, and half of it by a phase.
TEST(Schedule, BatchOfAPhase_ScalesRate) {
  const Epochs epochs(std::vector<Epochs::Phase>{{0, 10}, {1, 5}});
  const ScheduleConfig config{.lr = 1, .reference_batch = 8, .warmup_steps = 0, .decay_epochs = {2}};
  const ScheduleInputs inputs{.global_batch = 8,
      .epochs = epochs,
      .total_steps = 20,
      .phases = {{.first_iteration = 11, .factor = 0.5, .global_batch = 16}}};
  const auto s = make_schedule(config, inputs);
  EXPECT_DOUBLE_EQ(s->lr(10), 1);
  EXPECT_DOUBLE_EQ(s->lr(11), 1);  // 2 of the rule x 0.5
  EXPECT_DOUBLE_EQ(s->lr(15), 1);
  EXPECT_DOUBLE_EQ(s->lr(16), 0.1);  // after two epochs
  ScheduleConfig root = config;
  root.batch_rule = "sqrt";
  EXPECT_DOUBLE_EQ(make_schedule(root, inputs)->lr(11), 0.5 * std::sqrt(2.0));
}

TEST(Schedule, TakesTheReferencesAbsoluteSlope) {
  // MLPerf's mlperf_linear: lr = base - (warmup_iters - it) * factor, with the factor of a global batch of 96: 1.92e-4
  // over 625 iterations.
  const double base = 0.12, factor = 1.92e-4;
  const auto s = make_schedule(
      {.lr = base, .warmup_steps = 625, .warmup_start = 1 - 625 * factor / base}, {.global_batch = 96, .epochs = 1222});
  for (int it : {1, 100, 624}) EXPECT_NEAR(s->lr(it), base - (625 - it) * factor, 1e-15) << it;
}

TEST(Schedule, BatchRules_ScaleTheRate) {
  const auto base = [](const char* rule, std::int64_t reference) {
    return make_schedule({.lr = 0.02, .reference_batch = reference, .batch_rule = rule, .warmup_steps = 0},
        {.global_batch = 64, .epochs = 10})
        ->lr(1);
  };
  EXPECT_DOUBLE_EQ(base("linear", 16), 0.08);
  EXPECT_DOUBLE_EQ(base("sqrt", 16), 0.04);
  EXPECT_DOUBLE_EQ(base("none", 16), 0.02);
  for (const char* rule : {"linear", "sqrt", "none"}) EXPECT_DOUBLE_EQ(base(rule, 0), 0.02);
}

TEST(Schedule, DecaysByEpochs) {
  const auto s = make_schedule(
      {.lr = 1, .warmup_steps = 0, .decay_epochs = {1.5}, .decay_factor = 0.1}, {.global_batch = 8, .epochs = 10});
  EXPECT_DOUBLE_EQ(s->lr(15), 1);
  EXPECT_DOUBLE_EQ(s->lr(16), 0.1);
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
  says("are for train.schedule.kind = \"step_decay\", not \"cosine\"",
      [](Recipe& r) { r.train.schedule.kind = "cosine", r.train.schedule.decay_epochs = {5}; });
  says("must ascend", [](Recipe& r) { r.train.schedule.decay_epochs = {5, 3}; });
  says("data.long_side = 3 is smaller than data.short_side = 5",
      [](Recipe& r) { r.data.short_side = 5, r.data.long_side = 3; });
  says("model.rpn.match_low is above model.rpn.match_high",
      [](Recipe& r) { r.model.as<model::ModelConfig>().rpn.match_low = 0.8; });
  says("data.mean and data.std", [](Recipe& r) { r.data.mean = {0, 0}; });
}

}  // namespace
}  // namespace ttt::train
