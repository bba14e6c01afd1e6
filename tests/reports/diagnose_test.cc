// Where a run's time went: planted costs in made-up runs. tests/reports/slowed_runs.py plants them in real ones.
#include "reports/diagnose.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "reports/groups.h"
#include "tests/support/toy_record.h"

namespace ttt::reports {
namespace {

// Phases of a step in the order of result::kPhaseNames; the whole step takes `waiting` longer.
NamedRun run_of(const std::string& id, std::array<double, 6> phases, double waiting = 0, std::int64_t steps = 100) {
  result::RunRecord r = test::toy_record();
  r.run_id = id;
  r.steps.truncate(0);
  r.accuracy.clear(), r.events.clear();
  r.health = {};
  r.provenance["sanitize"] = "";  // whatever this test is built with
  double step = waiting;
  for (const double s : phases) step += s;
  for (std::int64_t i = 0; i < steps; ++i) {
    result::StepSample s = test::toy_step(i);
    s.phase_s = phases, s.step_s = step;
    if (i < 10) s.step_s = 50;  // allocations of the first steps say nothing
    r.steps.add(s);
  }
  return {id + ".json", std::move(r)};
}

// data_wait, forward, backward, comm_exposed, optimizer, other
constexpr std::array<double, 6> kQuick = {0.01, 0.4, 0.5, 0.05, 0.03, 0.01};

std::string first(const Diagnosis& d) { return d.suspects.empty() ? "" : d.suspects[0].id; }

TEST(Diagnose, Reference_IsTheFastestLikeIt) {
  const NamedRun slow = run_of("slow", {0.51, 0.4, 0.5, 0.05, 0.03, 0.01}), quick = run_of("quick", kQuick),
                 middle = run_of("middle", {0.2, 0.4, 0.5, 0.05, 0.03, 0.01});
  NamedRun other_machine = run_of("other", {0, 0.1, 0.1, 0, 0, 0});
  other_machine.record.system["label"] = "another";
  const Diagnosis d = diagnose(slow, {slow, middle, other_machine, quick});
  EXPECT_EQ(d.reference, "quick.json");
  EXPECT_NEAR(d.step_s, 1.5, 1e-12);
  EXPECT_NEAR(d.reference_s, 1.0, 1e-12);
  EXPECT_EQ(first(d), "slow_reading");
  EXPECT_NEAR(d.suspects[0].cost_s, 0.5, 1e-12);
  const std::string text = render_text(diagnosis(slow, {quick}), 200);
  EXPECT_NE(text.find("Steps are 67 % as fast"), std::string::npos) << text;
  EXPECT_NE(text.find("First suspect: slow_reading"), std::string::npos) << text;
}

TEST(Diagnose, RuleExplainsItsPhase) {
  NamedRun slow = run_of("slow", {0.51, 0.4, 0.5, 0.05, 0.03, 0.01});
  slow.record.recipe.settings["data"]["workers"] = 0;
  EXPECT_EQ(first(diagnose(slow, {run_of("quick", kQuick)})), "no_worker");
  slow.record.steps = run_of("x", kQuick).record.steps;  // it costs nothing here
  EXPECT_EQ(first(diagnose(slow, {run_of("quick", kQuick)})), "");
}

TEST(Diagnose, SlowRank_MakesOthersWait) {
  NamedRun slow = run_of("slow", {0.01, 0.4, 0.5, 0.3, 0.03, 0.01}, 0.2);
  EXPECT_EQ(first(diagnose(slow, {run_of("quick", kQuick)})), "slow_link");
  slow.record.health.stragglers = result::StragglersRecord{
      .window_steps = 20, .windows = 4, .index = 1.2, .ranks = {{.rank = 1, .windows = 3, .index = 1.6}}};
  const Diagnosis d = diagnose(slow, {run_of("quick", kQuick)});
  EXPECT_EQ(first(d), "slow_rank");
  EXPECT_NEAR(d.suspects[0].cost_s, 0.45, 1e-12);
}

TEST(Diagnose, SlowRank_ExplainsMeanWork) {
  constexpr double kMean = 1.3;  // of two ranks' work, 1 and 1.6 times the reference's
  NamedRun slow = run_of("slow", {0.01, 0.4 * kMean, 0.5 * kMean, 0.05, 0.03 * kMean, 0.01}, 0.2);
  ASSERT_EQ(ranks_of(slow.record), 2);
  slow.record.health.stragglers = result::StragglersRecord{
      .window_steps = 20, .windows = 4, .index = 1.2, .ranks = {{.rank = 1, .windows = 3, .index = 1.6}}};
  const Diagnosis d = diagnose(slow, {run_of("quick", kQuick)});
  ASSERT_EQ(d.suspects.size(), 1u) << d.suspects.back().id;
  EXPECT_EQ(d.suspects[0].id, "slow_rank");
  EXPECT_NEAR(d.suspects[0].cost_s, 0.2 + 0.93 * 0.3, 1e-12);
}

TEST(Diagnose, SlowProcessors_OnlyAgainstAReference) {
  NamedRun slow = run_of("slow", {0.01, 0.8, 1.0, 0.05, 0.06, 0.01});
  EXPECT_EQ(first(diagnose(slow, {run_of("quick", kQuick)})), "slow_processors");
  EXPECT_EQ(first(diagnose(slow, {})), "");
  for (auto& node : slow.record.system["nodes"])
    node["usable_cores"] = 1, node["logical_cores"] = 8, node["bound_to"] = {0};
  NamedRun quick = run_of("quick", kQuick);
  for (auto& node : quick.record.system["nodes"]) node["logical_cores"] = 8;
  slow.record.built["threads_per_rank"] = 4;
  EXPECT_EQ(first(diagnose(slow, {quick})), "bound_too_narrowly");
}

TEST(Diagnose, Stalls_CountPerStep) {
  NamedRun slow = run_of("slow", kQuick);
  slow.record.health.replica_checks = result::ReplicaChecksRecord{.every_steps = 1, .checks = 100, .total_s = 20};
  const Diagnosis d = diagnose(slow, {run_of("quick", kQuick)});
  EXPECT_EQ(first(d), "replica_checks");
  EXPECT_NEAR(d.suspects[0].cost_s, 0.2, 1e-12);
}

TEST(Diagnose, FewSteps_AreRefused) {
  EXPECT_THROW(diagnose(run_of("short", kQuick, 0, 29), {}), UsageError);
  EXPECT_EQ(diagnose(run_of("a", kQuick), {run_of("short", kQuick, 0, 29)}).reference, "");
}

}  // namespace
}  // namespace ttt::reports
