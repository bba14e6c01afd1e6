// Which published result speaks for a system, and what it says.
#include "benchmarks/ablations/findings.h"

#include <gtest/gtest.h>

#include "tests/support/toy_record.h"

namespace ttt::ablations {
namespace {

// Measured `reducer`, and could not measure `cuda_graphs`.
Source source(const std::string& file, const std::string& started, std::int64_t ranks = 2) {
  Source s{.file = file, .ranks = ranks, .record = test::toy_ablation()};
  s.record.provenance["started_at"] = started;
  return s;
}

TEST(Findings, Speaker_IsNewestByStart) {
  // The names of folders end in commits, which have no order.
  const std::vector<Source> sources = {source("m/2026-11-27_ablate_1ca8e33/b.json", "2026-11-27T08:00:00Z"),
      source("m/2026-11-27_ablate_950afdc/a.json", "2026-11-27T07:00:00Z")};
  EXPECT_EQ(speaker(sources, "reducer"), &sources[0]);
  EXPECT_EQ(speaker(sources, "precision"), nullptr);
}

TEST(Findings, Speaker_MeasuredOfFewestRanks) {
  std::vector<Source> sources = {source("m/a/1.json", "2026-11-25T00:00:00Z"),
      source("m/b/2.json", "2026-11-26T00:00:00Z", 4), source("m/c/3.json", "2026-11-27T00:00:00Z")};
  sources[2].record.comparisons[0].status = "not_supported";
  EXPECT_EQ(speaker(sources, "reducer"), &sources[0]);
  EXPECT_EQ(speaker(sources, "cuda_graphs"), &sources[2]);  // none measured it
}

TEST(Findings, TrainingsOfOneVariant_AreCounted) {
  result::ConvergenceRow row{.ablation = "repeats", .baseline = "the recipe", .fixed_steps = true};
  for (std::int64_t seed = 1; seed <= 20; ++seed) row.trainings.push_back({.variant = "the recipe", .seed = seed});
  EXPECT_EQ(trainings_text(row), "20 trainings of one variant");
  row.fixed_steps = false;
  row.trainings.resize(2);
  row.trainings[0].epochs = 1.25, row.trainings[1].epochs = 1;
  EXPECT_EQ(trainings_text(row), "the recipe: 1.00 to 1.25 epochs (2 seeds)");
}

}  // namespace
}  // namespace ttt::ablations
