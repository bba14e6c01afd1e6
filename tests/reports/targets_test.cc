// Targets by repeats, against trainings whose statistics are known.
#include "reports/targets.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "core/error.h"
#include "core/temp_folder.h"
#include "result/crossing.h"
#include "result/result_file.h"
#include "settings/toml_json.h"
#include "tests/support/message_of.h"

namespace ttt::reports {
namespace {

using result::ConvergenceRow;
using result::Training;

constexpr int kTrainings = 21;

const Target kTarget = {.recipe = "r", .target = {{"bbox_ap", 0.5}, {"segm_ap", 0.4}}, .epochs = 3};

// Seed i crosses the mask's target at 2.5 + i / 20 epochs, long after the box's; fresh images are worse by 0.01, more
// or less by 0.002.
ConvergenceRow repeats() {
  ConvergenceRow row{.ablation = "repeats", .baseline = "the recipe", .target = kTarget.target, .fixed_steps = true};
  for (int seed = 0; seed < kTrainings; ++seed) {
    Training t{.variant = "the recipe", .seed = seed};
    for (int i = 0; i <= 14; ++i) {
      const double epochs = 1.5 + 0.25 * i, rise = 0.3 * std::log(epochs / (2.5 + seed / 20.0));
      t.accuracy.push_back({epochs, {{"bbox_ap", 0.6 + rise}, {"segm_ap", 0.4 + rise}}});
    }
    const double less = 0.01 + (seed % 2 == 0 ? 0.002 : -0.002);
    t.fresh = t.accuracy.back().metrics;
    for (result::Metric& m : *t.fresh) m.value -= less;
    row.trainings.push_back(std::move(t));
  }
  return row;
}

TEST(Targets, Repeats_GiveKnownStatistics) {
  const Repeats r = repeats_of(repeats(), kTarget);
  EXPECT_EQ(r.trainings, 21u);
  EXPECT_EQ(r.reached, 11u);  // those that cross at 3 epochs or before
  ASSERT_EQ(r.metrics.size(), 2u);
  const Repeats::OfMetric& mask = r.metrics[1];
  EXPECT_EQ(mask.name, "segm_ap");
  EXPECT_NEAR(mask.median, 0.4, 1e-12);
  EXPECT_TRUE(is_median(mask));
  EXPECT_FALSE(is_median(r.metrics[0]));
  EXPECT_NEAR(mask.most, 0.4 + 0.3 * std::log(3 / 2.5), 1e-12);
  EXPECT_NEAR(mask.least, 0.4 + 0.3 * std::log(3 / 3.5), 1e-12);
  ASSERT_TRUE(mask.gap);
  // 11 seeds at -0.012 and 10 at -0.008: mean and Student's interval (t of 20 degrees of freedom: 2.0860)
  const double mean = -(11 * 0.012 + 10 * 0.008) / 21, deviation = 0.002 * std::sqrt((21 - 1.0 / 21) / 20);
  EXPECT_NEAR(mask.gap->estimate, mean, 1e-12);
  EXPECT_NEAR(mask.gap->high - mean, 2.0860 * deviation / std::sqrt(21), 1e-6);
}

TEST(Targets, Crossings_AreThoseOfTheCurves) {
  const Repeats r = repeats_of(repeats(), kTarget);
  ASSERT_EQ(r.crossing.values.size(), 21u);
  for (int seed = 0; seed < kTrainings; ++seed) {
    const auto i = static_cast<std::size_t>(seed);
    const double crossing = 2.5 + seed / 20.0;
    EXPECT_NEAR(r.crossing.values[i], crossing, 1e-9);
    const double rule = std::ceil(4 * crossing - 1e-9) / 4;  // evaluations are a quarter apart
    EXPECT_NEAR(r.rule.values[i], rule, 1e-9);
    EXPECT_NEAR(r.rule.errors[i], 0.25 / std::sqrt(12.0) / rule, 1e-9);
  }
}

// The box's AP is far above, so the mask's interval is the training's. It is known for a line and its residuals.
TEST(Targets, ErrorOfOne_IsItsIntervals) {
  ConvergenceRow row = repeats();
  for (Training& t : row.trainings)
    for (std::size_t i = 0; i < t.accuracy.size(); ++i) t.accuracy[i].metrics[1].value += i % 2 == 0 ? 0.004 : -0.004;
  const Repeats r = repeats_of(row, kTarget);
  ASSERT_EQ(r.crossing.errors.size(), 21u);
  const auto c = result::crossing(row.trainings[10].accuracy, kTarget.target);
  ASSERT_TRUE(c && c->has_interval);
  // A line through some ten evaluations: the error at the target is the noise over the root of their number and more,
  // over the slope of 0.3 an e-fold.
  const double least = 0.004 / std::sqrt(static_cast<double>(c->evaluations)) / 0.3;
  EXPECT_GT(r.crossing.errors[10], least);
  EXPECT_LT(r.crossing.errors[10], 3 * least);
}

TEST(Targets, UnfitRepeats_AreRefused) {
  ConvergenceRow row = repeats();
  row.averaged = true;
  EXPECT_NE(
      test::message_of([&] { repeats_of(row, kTarget); }).find("ablate.averaged_weights=false"), std::string::npos);
  row = repeats();
  row.trainings[3].variant = "another";
  EXPECT_THROW(repeats_of(row, kTarget), DataError);
  Target target = kTarget;
  target.epochs = 3.1;
  EXPECT_NE(test::message_of([&] { repeats_of(repeats(), target); }).find("no evaluation after 3.1 epochs"),
      std::string::npos);
}

TEST(Targets, UnfitFiles_AreRefused) {
  const TempFolder folder;
  EXPECT_THROW(read_targets(folder.path()), UsageError);
  std::filesystem::create_directory(folder.path() / "targets");
  const auto write = [&](const std::string& text) { std::ofstream(folder.path() / "targets" / "r.toml") << text; };
  const auto message = [&](const std::string& text) {
    write(text);
    return test::message_of<DataError>([&] { read_targets(folder.path()); });
  };
  const std::string good = "recipe = 'r'\nby = 'publication'\nsource = 's'\ntakes = 't'\ncommands = []\n";
  write(good + "[target]\nbbox_ap = 0.5\n");
  EXPECT_EQ(read_targets(folder.path()).size(), 1u);
  EXPECT_NE(message(good + "sourse = 's'\n[target]\nbbox_ap = 0.5\n").find("'r.toml.sourse' is no key of a target"),
      std::string::npos);
  EXPECT_NE(message("recipe = 'r'\nby = 'repeats'\ncommands = []\n[target]\nbbox_ap = 0.5\n").find("lacks epochs"),
      std::string::npos);
}

// The recipe has the target that its file derives, which is the median of its repeats.
TEST(Targets, ShippedFiles_AreTheRecipes) {
  const std::filesystem::path source = TTT_SOURCE_DIR;
  const std::vector<Target> all = read_targets(source / "results");
  EXPECT_GE(all.size(), 2u);
  for (const Target& t : all) {
    const std::string file = (source / "benchmarks/recipes" / (t.recipe + ".toml")).string();
    const result::Json train = harness::toml_json(result::read_text(file), file).at("train");
    EXPECT_EQ(train.at("target_box_ap").get<double>(), *result::find(t.target, "bbox_ap")) << file;
    EXPECT_EQ(train.at("target_mask_ap").get<double>(), *result::find(t.target, "segm_ap")) << file;
    if (t.by != TargetBasis::kRepeats) continue;
    const result::RunRecord run = result::read_result(source / "results" / t.repeats);
    ASSERT_EQ(run.convergence.size(), 1u) << file;
    const Repeats repeats = repeats_of(run.convergence[0], t);
    EXPECT_GE(repeats.trainings, 20u) << file;
    for (const Repeats::OfMetric& m : repeats.metrics) EXPECT_TRUE(is_median(m)) << file << ": " << m.name;
  }
  const std::string text = render_text(targets(all, source / "results"), 1000);
  for (const Target& t : all) EXPECT_NE(text.find(t.why.empty() ? t.recipe : t.why), std::string::npos) << text;
}

}  // namespace
}  // namespace ttt::reports
