// Machines whose factors are known: made up in the test, and the two whose results are published.
#include "reports/machines.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/rng.h"
#include "reports/inputs.h"
#include "tests/support/toy_record.h"

namespace ttt::reports {
namespace {

using result::RunRecord;

// A made-up machine: a phase takes `more` of the whole step longer, and everything else as much longer.
struct Made {
  std::string name, phase;
  double slowdown = 1;    // of time to target and of the step
  std::string weak_peak;  // whose rate is divided by
  double weakness = 1;
};
const Made kAlpha = {"Alpha", "", 1, "", 1}, kBeta = {"Beta", "forward", 1.5, "memory_triad", 1.25},
           kGamma = {"Gamma", "comm_exposed", 2, "all_reduce", 4};

RunRecord on(const Made& m) {
  RunRecord r = test::toy_record();
  r.provenance["dirty"] = false, r.provenance["commit"] = "0123456789",
  r.provenance["started_at"] = "2026-03-01T00:00:00Z";
  r.data["train_sha256"] = "one";
  r.system["world_size"] = 2;
  r.system["label"] = m.name;
  return r;
}

// Of the phases of toy_step() one takes what the step takes longer.
void slow_down(const Made& m, double base_s, result::StepSample& s) {
  const double whole = 0.5;
  for (std::size_t i = 0; i < s.phase_s.size(); ++i)
    s.phase_s[i] = base_s * (s.phase_s[i] / whole + (result::kPhaseNames[i] == m.phase ? m.slowdown - 1 : 0));
  s.step_s = base_s * m.slowdown;
}

// The same random times for every machine, times its slowdown.
std::vector<NamedRun> trained(const Made& m, std::size_t count) {
  std::vector<NamedRun> runs;
  for (std::size_t n = 0; n < count; ++n) {
    Stream random(random_bits(n, Purpose::kTest, 21));
    RunRecord r = on(m);
    r.recipe.settings["seed"] = n;
    const std::size_t steps = r.steps.size();
    r.steps.truncate(0);
    for (std::size_t i = 0; i < steps; ++i) {
      result::StepSample s = test::toy_step(static_cast<std::int64_t>(i));
      slow_down(m, random.uniform(0.3, 0.6), s);
      r.steps.add(s);
    }
    const double scale = m.slowdown * random.uniform(0.9, 1.1);
    r.clocks.init_s *= scale, r.clocks.run_s *= scale, r.clocks.total_s *= scale;
    for (result::Evaluation& e : r.accuracy) e.wall_s *= scale, e.duration_s *= scale;
    runs.push_back({m.name + std::to_string(n), r});
  }
  return runs;
}

// Eight ablations, and the ceilings.
NamedRun ablated(const Made& m, std::int64_t ranks = 2) {
  Stream random(random_bits(7, Purpose::kTest, 22));
  RunRecord r = on(m);
  r.kind = "ablation", r.target.reset(), r.accuracy.clear(), r.steps.truncate(0);
  r.system["world_size"] = ranks;
  for (int i = 0; i < 8; ++i) {
    result::Comparison c = test::toy_ablation().comparisons[0];
    c.ablation = "technique " + std::to_string(i);
    result::StepSample s = test::toy_step(0);
    slow_down(m, random.uniform(0.05, 2), s);
    for (double& x : c.samples.baseline_s) x *= s.step_s;
    c.phases = result::Json::object();
    for (std::size_t p = 0; p < s.phase_s.size(); ++p)
      c.phases[std::string(result::kPhaseNames[p])] = {s.phase_s[p], s.phase_s[p]};
    r.comparisons.push_back(c);
  }
  for (const char* name : {"matrix_multiply", "memory_triad", "all_reduce"}) {
    result::Peak peak{name, std::string(name) == "matrix_multiply" ? "flop/s" : "B/s", "", 1, {}};
    for (int i = 0; i < 10; ++i)
      peak.samples.push_back(random.uniform(0.99e10, 1.01e10) / (m.weak_peak == name ? m.weakness : 1));
    r.peaks.push_back(peak);
  }
  return {m.name + ".json", r};
}

void expect_known(const MachineFacts& facts, const std::string& phrase) {
  ASSERT_EQ(facts.machines.size(), 3u);
  const Made made[] = {kAlpha, kBeta, kGamma};
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(facts.machines[i].name, made[i].name);
  ASSERT_EQ(facts.pairs.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    const MachinePair& pair = facts.pairs[i];
    const Made& other = made[i + 1];
    ASSERT_TRUE(pair.speed);
    EXPECT_NEAR(pair.speed->times.estimate, other.slowdown, 1e-9);
    EXPECT_LE(pair.speed->times.low, pair.speed->times.estimate);
    EXPECT_GE(pair.speed->times.high, pair.speed->times.estimate);
    EXPECT_NE(pair.work.find(phrase), std::string::npos) << pair.work;
    ASSERT_FALSE(pair.phases.empty());
    EXPECT_EQ(pair.phases[0].name, other.phase);
    EXPECT_NEAR(pair.phases[0].share, 1, 1e-9);
    EXPECT_NE(facts.answers[i].find("Alpha is " + std::string(i ? "2.00" : "1.50") + " times as fast as " + other.name),
        std::string::npos)
        << facts.answers[i];
  }
}

// Five runs of each: 25 ratios, whose median is the factor by which the times were multiplied.
TEST(Machines, Trained_OrderFactorsAndCause) {
  std::vector<NamedRun> runs;
  for (const Made& m : {kGamma, kAlpha, kBeta})
    for (NamedRun& run : trained(m, 5)) runs.push_back(std::move(run));
  const MachineFacts facts = machine_facts(runs);
  expect_known(facts, "time to crossing, 5 runs against 5");
  EXPECT_TRUE(facts.pairs[0].speed->is_interval);
  for (const MachinePair& pair : facts.pairs) {
    EXPECT_EQ(pair.factors[0].name, "epochs to crossing");
    EXPECT_DOUBLE_EQ(pair.factors[0].times.estimate, 1);
    EXPECT_EQ(pair.factors.size(), 2u);  // whose product the rest is added to
  }
  std::reverse(runs.begin(), runs.end());
  EXPECT_EQ(machine_facts(runs).answers, facts.answers);
}

TEST(Machines, Ablated_OrderFactorsAndCause) {
  const std::vector<NamedRun> runs = {ablated(kBeta), ablated(kGamma), ablated(kAlpha)};
  const MachineFacts facts = machine_facts(runs);
  expect_known(facts, "8 training steps that both timed as baselines");
  for (const auto& [pair, made] : {std::pair{facts.pairs[0], kBeta}, std::pair{facts.pairs[1], kGamma}}) {
    ASSERT_EQ(pair.peaks.size(), 3u);
    EXPECT_EQ(pair.peaks[0].name, made.weak_peak);
    EXPECT_NEAR(pair.peaks[0].times.estimate, made.weakness, 1e-9);
  }
  EXPECT_NE(facts.cautions[0].find("No run reached the target: Alpha; Beta; Gamma."), std::string::npos)
      << facts.cautions[0];
}

TEST(Machines, FewRuns_RangeInsteadOfInterval) {
  std::vector<NamedRun> runs = trained(kAlpha, 3), others = trained(kBeta, 1);
  runs.insert(runs.end(), others.begin(), others.end());
  const MachineFacts facts = machine_facts(runs);
  EXPECT_FALSE(facts.pairs[0].speed->is_interval);
  EXPECT_NE(facts.answers[0].find("least to greatest ratio), by time to crossing, 3 runs against 1"), std::string::npos)
      << facts.answers[0];
}

TEST(Machines, NothingInCommon_IsSaid) {
  const std::vector<NamedRun> runs = {ablated(kAlpha, 2), ablated(kBeta, 4)};
  const MachineFacts facts = machine_facts(runs);
  EXPECT_EQ(facts.answers[0], "Alpha and Beta did no work in common: how their speeds compare is not known.");
  EXPECT_FALSE(facts.pairs[0].peaks.empty());
  EXPECT_THROW(machines({ablated(kAlpha)}), UsageError);
}

// Only runs that passed count, and only those to the target that most machines have.
TEST(Machines, OtherTargets_DoNotCount) {
  std::vector<NamedRun> runs = trained(kAlpha, 3), others = trained(kBeta, 3);
  runs.insert(runs.end(), others.begin(), others.end());
  const std::string before = machine_facts(runs).answers[0];
  NamedRun easy = trained(kBeta, 1)[0], smoke = easy;
  easy.record.target = result::Metrics{{"bbox_ap", 0.1}, {"segm_ap", 0.1}};
  easy.record.accuracy[0].wall_s = easy.record.accuracy[1].wall_s = 0.01;
  smoke.record.verdict = result::Verdict::kSmoke;
  smoke.record.accuracy[1].wall_s = 0.01;
  runs.push_back(easy), runs.push_back(smoke);
  EXPECT_EQ(machine_facts(runs).answers[0], before);
}

TEST(Machines, OtherCommitsAndDays_AreNamed) {
  std::vector<NamedRun> runs = {ablated(kAlpha), ablated(kBeta)};
  runs[1].record.provenance["commit"] = "fedcba9876543210";
  runs[1].record.provenance["started_at"] = "2026-04-01T00:00:00Z";
  EXPECT_EQ(machine_facts(runs).cautions.back(),
      "Commits or days differ. Alpha: 0123456789 (2026-03-01); Beta: fedcba9876 (2026-04-01).");
}

// Ablations of one day say that Beta is twice as fast, runs to the target of another that Alpha is.
std::vector<NamedRun> contradiction() {
  const Made slow = {"Alpha", "forward", 2, "memory_triad", 2};
  std::vector<NamedRun> runs = trained(kAlpha, 5), others = trained({"Beta", "forward", 2, "", 1}, 5);
  runs.insert(runs.end(), others.begin(), others.end());
  for (NamedRun run : {ablated(slow), ablated({"Beta", "", 1, "", 1})}) {
    run.record.provenance["started_at"] = "2026-03-02T00:00:00Z";
    runs.push_back(run);
  }
  return runs;
}

TEST(Machines, WorksDisagree_IsSaidFirst) {
  const std::vector<NamedRun> runs = contradiction();
  const Document d = machines(runs);
  EXPECT_TRUE(std::get<Paragraph>(d[0]).text.starts_with("Alpha is 2.00 times as fast as Beta ("));
  EXPECT_NE(std::get<Paragraph>(d[0]).text.find("by time to crossing, 5 runs against 5"), std::string::npos);
  const std::string caution = std::get<Paragraph>(d[1]).text;
  for (const char* part : {"! Not settled: by 8 baselines of ablations Beta is 2.00 times as fast as Alpha (",
           "another host, or a busy one", "Alpha ran on 2026-03-01, its baselines on 2026-03-02",
           "Run ttt_maskrcnn and ablate --all again"})
    EXPECT_NE(caution.find(part), std::string::npos) << part << " in: " << caution;
  // Ceilings of the ablations' day need not explain the runs of the other; phases and factors are the runs' own.
  const MachineFacts facts = machine_facts(runs);
  EXPECT_TRUE(facts.pairs[0].peaks.empty());
  EXPECT_EQ(facts.pairs[0].other_peaks.size(), 3u);
  EXPECT_EQ(facts.pairs[0].phases[0].name, "forward");
  EXPECT_NE(std::find_if(facts.cautions.begin(), facts.cautions.end(),
                [](const std::string& c) { return c.starts_with("Ceilings were measured on other days"); }),
      facts.cautions.end());
}

TEST(Machines, SlowStart_IsNoOtherHost) {
  std::vector<NamedRun> runs = trained(kAlpha, 5), others = trained({"Beta", "", 1, "", 1}, 5);
  for (NamedRun& run : others) run.record.clocks.init_s += 100;  // start-up
  runs.insert(runs.end(), others.begin(), others.end());
  runs.push_back(ablated(kAlpha)), runs.push_back(ablated({"Beta", "", 1, "", 1}));
  const MachineFacts facts = machine_facts(runs);
  ASSERT_EQ(facts.disagreements.size(), 1u);
  EXPECT_NE(facts.disagreements[0].find("The time per epoch agrees with the baselines"), std::string::npos)
      << facts.disagreements[0];
  // The same day: the ceilings may explain it.
  EXPECT_EQ(facts.pairs[0].peaks.size(), 3u);
}

TEST(Machines, AgreeingWork_HasNoCaution) {
  std::vector<NamedRun> runs = trained(kAlpha, 5), others = trained(kBeta, 5);
  runs.insert(runs.end(), others.begin(), others.end());
  runs.push_back(ablated(kAlpha)), runs.push_back(ablated(kBeta));
  EXPECT_TRUE(machine_facts(runs).disagreements.empty());
}

// The same baselines take 1.4 times as long, and the same runs 1.3 times, on the next day.
TEST(Machines, OwnDaysDisagree_IsSaid) {
  std::vector<NamedRun> runs = {ablated(kAlpha), ablated(kBeta), ablated({"Alpha", "forward", 1.4, "", 1})};
  runs[2].record.provenance["started_at"] = "2026-03-02T00:00:00Z";
  MachineFacts facts = machine_facts(runs);
  ASSERT_EQ(facts.disagreements.size(), 1u);
  EXPECT_TRUE(
      facts.disagreements[0].starts_with("Alpha disagrees with itself: 8 baselines of ablations took 1.40 times"))
      << facts.disagreements[0];
  EXPECT_NE(facts.disagreements[0].find("on 2026-03-02 as on 2026-03-01"), std::string::npos);
  runs = trained(kAlpha, 5);
  for (NamedRun& run : trained({"Alpha", "forward", 1.3, "", 1}, 5)) {
    run.record.provenance["started_at"] = "2026-03-02T00:00:00Z";
    runs.push_back(std::move(run));
  }
  facts = machine_facts(runs);
  ASSERT_EQ(facts.disagreements.size(), 1u);
  EXPECT_TRUE(facts.disagreements[0].starts_with("Alpha disagrees with itself: runs to the target took 1.30 times"))
      << facts.disagreements[0];
}

// Beta trained with Alpha's recipe, and faster with another one: times of two recipes are not one sample.
TEST(Machines, OtherRecipes_DoNotMix) {
  std::vector<NamedRun> runs = trained(kAlpha, 4), others = trained(kBeta, 4);
  runs.insert(runs.end(), others.begin(), others.end());
  const std::string before = machine_facts(runs).answers[0];
  for (NamedRun& run : trained({"Beta", "", 0.5, "", 1}, 6)) {
    run.record.recipe.settings["solver"]["lr"] = 0.5;
    runs.push_back(std::move(run));
  }
  const MachineFacts facts = machine_facts(runs);
  EXPECT_EQ(facts.answers[0], before);
  EXPECT_EQ(facts.machines[1].passed.size(), 4u);
  EXPECT_NE(
      std::find(facts.cautions.begin(), facts.cautions.end(), "Runs with another recipe do not count: 6 of Beta."),
      facts.cautions.end());
}

// Alpha timed more with two ranks; what both did with four compares.
TEST(Machines, CommonRanks_AreCompared) {
  NamedRun more = ablated(kAlpha, 2);
  more.record.comparisons.push_back(more.record.comparisons[0]);
  more.record.comparisons.back().ablation = "technique 9";
  MachineFacts facts = machine_facts({more, ablated(kAlpha, 4), ablated(kBeta, 4)});
  EXPECT_EQ(facts.machines[0].ranks, 4);
  ASSERT_TRUE(facts.pairs[0].speed);
  EXPECT_NEAR(facts.pairs[0].speed->times.estimate, 1.5, 1e-9);
  // Runs to the target with other numbers of ranks compare, and it is said.
  std::vector<NamedRun> runs = trained(kAlpha, 4);
  for (NamedRun& run : trained(kBeta, 4)) run.record.system["world_size"] = 4, runs.push_back(std::move(run));
  facts = machine_facts(runs);
  EXPECT_NE(std::find(facts.cautions.begin(), facts.cautions.end(), "The numbers of ranks differ: 2, 4."),
      facts.cautions.end());
}

// numpy.interp over the files: medians of time to crossing 134.115 and 87.771 s. The geometric mean of the 20 whole
// steps of the newest files all.json is 1.339, the other way; bf16 is numpy's Hodges-Lehmann estimate over builds.
TEST(Machines, Published_XeonIsFasterByRuns) {
  std::vector<NamedRun> runs;
  const Inputs inputs =
      read_inputs({TTT_SOURCE_DIR "/results/epyc-avx512-2cores", TTT_SOURCE_DIR "/results/xeon-avx512-2cores"});
  for (const ResultFile& r : inputs.results) runs.push_back(r.run);
  const MachineFacts facts = machine_facts(runs);
  ASSERT_EQ(facts.machines.size(), 2u);
  EXPECT_EQ(facts.machines[0].name, "Intel Xeon 6/207, 2 cores");
  EXPECT_EQ(facts.machines[1].name, "AMD EPYC 25/17, 2 cores");
  EXPECT_EQ(facts.machines[0].passed.size(), 3u);
  EXPECT_EQ(facts.machines[1].passed.size(), 5u);
  const MachinePair& pair = facts.pairs[0];
  ASSERT_TRUE(pair.speed && pair.by_baselines);
  EXPECT_NEAR(pair.speed->times.estimate, 134.115 / 87.771, 0.01);
  EXPECT_NEAR(1 / pair.by_baselines->times.estimate, 1.339, 0.02);
  EXPECT_FALSE(facts.disagreements.empty());
  EXPECT_NEAR(facts.machines[1].bf16->estimate, -0.3448, 0.0005);
  ASSERT_FALSE(pair.phases.empty());
  for (const auto* list : {&pair.peaks, &pair.other_peaks, &pair.phases})
    for (const Factor& f : *list) {
      EXPECT_LE(f.times.low, f.times.estimate) << f.name;
      EXPECT_GE(f.times.high, f.times.estimate) << f.name;
    }
}

TEST(Machines, Labels_NameFilesFoldersAndAll) {
  std::vector<NamedRun> runs = {{"a/1.json", on(kAlpha)}, {"a/b/2.json", on(kAlpha)}, {"c.json", on(kAlpha)}};
  const std::vector<NamedRun*> pointers = {&runs[0], &runs[1], &runs[2]};
  label_machines(pointers, {"all", "a=folder", "c.json=file"});
  EXPECT_EQ(runs[0].record.system["label"], "folder");
  EXPECT_EQ(runs[1].record.system["label"], "folder");
  EXPECT_EQ(runs[2].record.system["label"], "file");
  EXPECT_THROW(label_machines(pointers, {"x=y"}), UsageError);
}

}  // namespace
}  // namespace ttt::reports
