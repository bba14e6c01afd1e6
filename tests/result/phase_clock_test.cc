// The clocks of a step and of a run, on a clock that the test sets.
#include "result/phase_clock.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>

#include "tests/support/fake_clock.h"

namespace ttt::result {
namespace {

using test::fake_now;
using test::fake_now_s;

TEST(PhaseClock, PhasesAddUpToTheStep) {
  fake_now_s = 10;
  PhaseClock clock(fake_now);
  const auto spend = [&](Phase phase, double seconds) {
    clock.enter(phase);
    fake_now_s += seconds;
  };
  fake_now_s += 0.5;  // other
  spend(Phase::kDataWait, 1), spend(Phase::kForward, 2), spend(Phase::kBackward, 4), spend(Phase::kCommExposed, 8);
  spend(Phase::kForward, 16), spend(Phase::kOptimizer, 32), spend(Phase::kOther, 0.25);
  StepSample sample;
  clock.end_step(sample);
  EXPECT_EQ(sample.step_s, 63.75);
  EXPECT_EQ(sample.phase_s, (std::array<double, 6>{1, 18, 4, 8, 32, 0.75}));
  spend(Phase::kForward, 1);  // the next step starts where the last ended
  clock.end_step(sample);
  EXPECT_EQ(sample.step_s, 1);
  EXPECT_EQ(sample.phase_s, (std::array<double, 6>{0, 1, 0, 0, 0, 0}));
}

TEST(PhaseClock, ShowsTheRunningPhase) {
  fake_now_s = 10;
  PhaseClock clock(fake_now);
  std::atomic<std::int32_t> shown = -1;
  clock.enter(Phase::kForward);
  EXPECT_EQ(shown, -1);
  clock.show(&shown);
  for (const Phase phase : {Phase::kDataWait, Phase::kBackward, Phase::kOptimizer}) {
    clock.enter(phase);
    EXPECT_EQ(shown, static_cast<std::int32_t>(phase));
  }
  clock.start_step();
  EXPECT_EQ(shown, static_cast<std::int32_t>(Phase::kOther));
}

TEST(PhaseClock, AnnouncesEachPhaseByItsName) {
  static std::vector<std::string> announced;
  fake_now_s = 10;
  PhaseClock clock(fake_now);
  clock.announce([](const char* phase) { announced.emplace_back(phase); });
  clock.enter(Phase::kForward), clock.enter(Phase::kCommExposed), clock.start_step();
  EXPECT_EQ(announced, (std::vector<std::string>{"forward", "comm_exposed", "other"}));
}

TEST(RunClock, Evaluation_IsNotTraining) {
  fake_now_s = 100;
  RunClock clock(98, fake_now);
  EXPECT_EQ(clock.read().init_s, 2);
  fake_now_s = 103;
  clock.start_run();
  fake_now_s = 113;
  clock.start_evaluation();
  fake_now_s = 115;
  EXPECT_EQ(clock.read().train_s, 10);  // also while it evaluates
  EXPECT_EQ(clock.end_evaluation(), 2);
  fake_now_s = 120;
  EXPECT_EQ(clock.wall_s(), 17);
  clock.end_run();
  fake_now_s = 121;
  const Clocks c = clock.read();
  EXPECT_EQ(c.init_s, 5);
  EXPECT_EQ(c.run_s, 17);
  EXPECT_EQ(c.train_s, 15);
  EXPECT_EQ(c.total_s, 23);
}

}  // namespace
}  // namespace ttt::result
