// What watches over a run, without a run: who is blamed, who is slow, which replicas differ.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <thread>

#include "core/clock.h"
#include "core/rng.h"
#include "health/replica_vote.h"
#include "health/stragglers.h"
#include "health/watchdog.h"

namespace ttt::train {
namespace {

using comm::Sign;
constexpr std::int32_t kDataWait = 0, kForward = 1, kCommExposed = 3;

TEST(ReplicaVote, EqualReplicasDoNotDisagree) {
  EXPECT_FALSE(find_disagreement({}));
  EXPECT_FALSE(find_disagreement({{1, 2}}));
  EXPECT_FALSE(find_disagreement({{1, 2}, {1, 2}, {1, 2}}));
}

TEST(ReplicaVote, TheMajorityIsRight) {
  const auto d = find_disagreement({{1, 2, 3}, {1, 9, 9}, {1, 2, 3}, {1, 2, 8}});
  ASSERT_TRUE(d);
  EXPECT_TRUE(d->majority);
  EXPECT_EQ(d->ranks, (std::vector<int>{1, 3}));
  EXPECT_EQ(d->first, 1u);
  const auto root = find_disagreement({{7, 2}, {1, 2}, {1, 2}});
  EXPECT_EQ(root->ranks, std::vector<int>{0});
  EXPECT_TRUE(root->majority);
}

TEST(ReplicaVote, NoMajority_LowestRankIsReference) {
  const auto two = find_disagreement({{1, 2}, {1, 3}});
  EXPECT_FALSE(two->majority);
  EXPECT_EQ(two->ranks, std::vector<int>{1});
  EXPECT_EQ(two->first, 1u);
  const auto halves = find_disagreement({{1}, {2}, {2}, {1}});
  EXPECT_FALSE(halves->majority);
  EXPECT_EQ(halves->ranks, (std::vector<int>{1, 2}));
}

// Against counting by hand: few ranks are spoilt, the others are the majority whatever was done to the few.
TEST(ReplicaVote, FindsExactlyTheSpoiltRanks) {
  Stream draw(random_bits(1, Purpose::kTest, 41));
  for (int trial = 0; trial < 2000; ++trial) {
    const std::size_t ranks = 3 + draw.below(30), parts = 1 + draw.below(50), bad = 1 + draw.below((ranks - 1) / 2);
    std::vector<std::uint64_t> right(parts);
    for (auto& h : right) h = draw.bits();
    std::vector<std::vector<std::uint64_t>> all(ranks, right);
    std::vector<int> expected;
    std::size_t first = parts;
    while (expected.size() < bad) {
      const std::size_t r = draw.below(ranks), part = draw.below(parts);
      if (all[r] != right) continue;
      all[r][part] ^= std::uint64_t{1} << draw.below(64);
      expected.push_back(static_cast<int>(r));
      first = std::min(first, part);
    }
    std::sort(expected.begin(), expected.end());
    const auto d = find_disagreement(all);
    ASSERT_TRUE(d);
    ASSERT_TRUE(d->majority);
    ASSERT_EQ(d->ranks, expected);
    ASSERT_EQ(d->first, first);
  }
}

TEST(Stragglers, IndexIsOverTheMiddleRank) {
  EXPECT_TRUE(straggler_indices(std::vector<double>{0.1}).empty());
  EXPECT_EQ(straggler_indices(std::vector<double>{0.1, 0.2}), (std::vector<double>{1, 2}));
  EXPECT_EQ(straggler_indices(std::vector<double>{0.2, 0.1, 0.1, 0.4}), (std::vector<double>{2, 1, 1, 4}));
  EXPECT_EQ(straggler_indices(std::vector<double>{0, 0}), (std::vector<double>{1, 1}));
}

std::vector<Sign> waiting(std::size_t ranks) {
  return std::vector<Sign>(ranks, {.step = 40, .stage = kCommExposed, .silent_s = 0.1, .still_s = 5});
}
const std::vector<std::string> kNodes = {"a", "a", "b", "b"};

TEST(Watchdog, AwaitedRank_IsNamed) {
  auto signs = waiting(4);
  signs[2] = {.step = 40, .stage = kDataWait, .silent_s = 0.1, .still_s = 5.04};
  EXPECT_EQ(describe_stand(signs, kNodes, 1),
      "rank 2 (node b) has been in data_wait of step 40 for 5.0 s; ranks 0-1 and 3 wait in comm_exposed of step 40");
}

// On a GPU the others' hosts wait for their devices, which wait in a collective.
TEST(Watchdog, WaitingForDevices_IsNoCause) {
  auto signs = waiting(4);
  for (Sign& s : signs) s.stage = comm::kDeviceStage;
  signs[2] = {.step = 40, .stage = kForward, .silent_s = 0.1, .still_s = 5.04};
  EXPECT_EQ(describe_stand(signs, kNodes, 1),
      "rank 2 (node b) has been in forward of step 40 for 5.0 s; ranks 0-1 and 3 wait in the device's work of step 40");
  signs[2].stage = comm::kDeviceStage;
  EXPECT_EQ(describe_stand(signs, kNodes, 1), "ranks 0-3 wait in the device's work of step 40");
  // Those whose device takes no more work stand in the next step, at work as it seems.
  for (Sign& s : signs) s.step = 41, s.stage = kForward, s.still_s = 4;
  signs[3] = {.step = 40, .stage = kDataWait, .silent_s = 0.1, .still_s = 5.04};
  EXPECT_EQ(describe_stand(signs, kNodes, 1)
                .find("rank 3 (node b) has been in data_wait of step 40 for 5.0 s; rank 0 (node a) has been in forward "
                      "of step 41 for 4.0 s; rank 1"),
      0u);
}

TEST(Watchdog, LostRank_IsNamedFirst) {
  auto signs = waiting(4);
  signs[3] = {.step = 39, .stage = kForward, .silent_s = 4.4, .still_s = 4.4};
  signs[0].stage = kForward, signs[0].still_s = 0.2;
  signs[1].collective = "all_reduce_max(double)", signs[1].stage = comm::kEvaluationStage, signs[1].step = 64;
  EXPECT_EQ(describe_stand(signs, kNodes, 1),
      "rank 3 (node b) has given no sign of life for 4.4 s, was last seen in forward of step 39; rank 0 (node a) "
      "has been in forward of step 40 for 0.2 s; "
      "rank 2 waits in comm_exposed of step 40; rank 1 waits in the evaluation after 64 steps "
      "(all_reduce_max(double))");
}

TEST(Watchdog, ProcessState_IsTheKernels) {
  auto signs = waiting(3);
  signs[0].process = comm::Process::kGone, signs[0].silent_s = 0.3;
  signs[2].process = comm::Process::kStopped, signs[2].silent_s = 4;
  EXPECT_EQ(describe_stand(signs, kNodes, 1),
      "rank 0 (node a) is gone, was last seen in comm_exposed of step 40; rank 2 (node b) is stopped, since 4.0 "
      "s, was last seen in comm_exposed of step 40; "
      "rank 1 waits in comm_exposed of step 40");
  signs = waiting(2);
  signs[1].process = comm::Process::kRuns, signs[1].silent_s = 3;  // its heartbeat waits for a core
  EXPECT_EQ(describe_stand(signs, kNodes, 1), "ranks 0-1 wait in comm_exposed of step 40");
}

// A heartbeat that says what it is told. The watchdog asks on its own thread.
class Told final : public comm::Heartbeat {
 public:
  Told() { stand_still(0); }
  std::vector<Sign> signs() const override {
    const std::lock_guard lock(mutex_);
    ++asked;
    return said_;
  }
  void tell(std::size_t rank, const std::function<void(Sign&)>& change) {
    const std::lock_guard lock(mutex_);
    change(said_.at(rank));
  }
  void stop() override { stopped = true; }
  double interval_s() const override { return 0.1; }
  double cpu_s() const override { return 0; }
  void stand_still(double s) {
    const std::lock_guard lock(mutex_);
    for (Sign& sign : said_) sign.still_s = s;
  }
  mutable std::atomic<int> asked = 0;
  bool stopped = false;

 private:
  mutable std::mutex mutex_;
  std::vector<Sign> said_ = waiting(3);
};

struct Watched {
  explicit Watched(double limit_s, int rank = 0)
      : dog({.limit_s = limit_s,
                .rank = rank,
                .nodes = {"a", "b", "c"},
                .give_up = [this](const std::string& r) { reason = r, gave_up_s = now_s(), given_up = true; }},
            heart, place) {}
  void wait(double s) const {
    wait_until([this] { return given_up.load(); }, s);
  }
  static void wait_until(const std::function<bool()>& holds, double s) {
    for (const double end = now_s() + s; now_s() < end && !holds();)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  Told heart;
  comm::RankState place;
  std::atomic<bool> given_up = false;
  std::string reason;
  double gave_up_s = 0;
  Watchdog dog;  // last: its thread uses all of the above
};

TEST(Watchdog, Limit_EndsTheRunOnlyThen) {
  Watched w(0.5);
  w.heart.stand_still(0.49);
  w.dog.run_started({});
  Watched::wait_until([&] { return w.heart.asked >= 5; }, 20);
  EXPECT_GE(w.heart.asked, 5);
  ASSERT_FALSE(w.given_up);
  w.heart.tell(1, [](Sign& s) { s.stage = kDataWait; });
  w.heart.stand_still(0.51);
  w.wait(20);
  ASSERT_TRUE(w.given_up);
  EXPECT_EQ(
      w.reason.find("No rank has made progress for train.watchdog_s = 0.5 s: rank 1 (node b) has been in data_wait of "
                    "step 40 for 0.5 s"),
      0u)
      << w.reason;
}

TEST(Watchdog, LowestLivingRank_Speaks) {
  constexpr double kWord_s = 2;
  const auto gives_up_after_s = [](Watched& w) {
    w.heart.stand_still(100);
    const double start_s = now_s();
    w.dog.run_started({});
    w.wait(20);
    EXPECT_TRUE(w.given_up);
    return w.gave_up_s - start_s;
  };
  Watched second(0.3, 1);
  EXPECT_GE(gives_up_after_s(second), kWord_s);  // rank 0 lives, but does not end us
  Watched heir(0.3, 1);
  heir.heart.tell(0, [](Sign& s) { s.silent_s = 100; });
  EXPECT_LT(gives_up_after_s(heir), kWord_s);
}

TEST(Watchdog, EndedRunOrOff_IsQuiet) {
  Watched ended(0.2), off(0);
  off.heart.stand_still(100);
  ended.dog.run_started({}), off.dog.run_started({});
  ended.dog.run_ended({});
  ended.heart.stand_still(100);
  EXPECT_TRUE(ended.heart.stopped);
  std::this_thread::sleep_for(std::chrono::milliseconds(700));
  EXPECT_FALSE(ended.given_up);
  EXPECT_FALSE(off.given_up);
}

TEST(Watchdog, HealthyRun_EmptyDiagnosis) {
  Watched w(100);
  EXPECT_EQ(w.dog.diagnosis(), "");
  w.heart.tell(2, [](Sign& s) { s.silent_s = 3; });
  EXPECT_EQ(w.dog.diagnosis().find("Rank 2 (node c) has given no sign of life for 3.0 s"), 0u) << w.dog.diagnosis();
  EXPECT_EQ(w.dog.diagnosis().find("held up"), std::string::npos);
  w.heart.tell(0, [](Sign& s) { s.silent_s = 3, s.process = comm::Process::kRuns; });
  EXPECT_NE(w.dog.diagnosis().find("; this rank's own heartbeat is held up in MPI."), std::string::npos);
  EXPECT_EQ(w.dog.diagnosis().find("Rank 0"), std::string::npos);
}

}  // namespace
}  // namespace ttt::train
