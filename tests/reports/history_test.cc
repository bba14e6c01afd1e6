// Steps in a series: how many are found where there is none, and where one was planted.
#include "reports/history.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/rng.h"
#include "reports/change_points.h"
#include "tests/reports/lines.h"
#include "tests/support/message_of.h"
#include "tests/support/toy_record.h"

namespace ttt::reports {
namespace {

double normal(Stream& random) {
  return std::sqrt(-2 * std::log(1 - random.uniform())) * std::cos(6.283185307179586 * random.uniform());
}

// Series of independent samples, Gaussian and with rare values far above: at most as many alarms as stated, give or
// take three deviations.
TEST(ChangePoints, StationarySeries_FewFalseAlarms) {
  Stream random(random_bits(1, Purpose::kTest, 31));
  for (const bool spikes : {false, true}) {
    int alarms = 0;
    for (int i = 0; i < 400; ++i) {
      std::vector<double> series(10 + random.below(40));
      for (double& x : series) x = 100 + normal(random) + (spikes && random.below(10) == 0 ? 50 * random.uniform() : 0);
      alarms += !change_points(series).empty();
    }
    std::printf("%d of 400 stationary series with a step%s\n", alarms, spikes ? ", spikes" : "");
    EXPECT_LE(alarms, 400 * kFalseAlarms + 3 * std::sqrt(400 * kFalseAlarms));
  }
}

// A step of three deviations is found within one sample of its place: in the middle, ten before the end, and with the
// way back after it.
TEST(ChangePoints, PlantedSteps_AreFound) {
  Stream random(random_bits(1, Purpose::kTest, 32));
  int found = 0, near_end = 0, both = 0;
  for (int i = 0; i < 100; ++i) {
    std::vector<double> noise(40);
    for (double& x : noise) x = 100 + normal(random);
    const auto with_step = [&](std::size_t from, std::size_t to) {
      std::vector<double> series = noise;
      for (std::size_t s = from; s < to; ++s) series[s] += 3;
      return change_points(series);
    };
    const auto is_at = [](const std::vector<std::size_t>& points, std::size_t i, std::size_t at) {
      return i < points.size() && points[i] + 1 >= at && points[i] <= at + 1;
    };
    found += is_at(with_step(20, 40), 0, 20);
    near_end += is_at(with_step(30, 40), 0, 30);
    const auto two = with_step(13, 27);
    both += is_at(two, 0, 13) && is_at(two, 1, 27);
  }
  std::printf("of 100: %d in the middle, %d ten before the end, %d pairs\n", found, near_end, both);
  EXPECT_GE(found, 95);
  EXPECT_GE(near_end, 85);
  EXPECT_GE(both, 85);
  EXPECT_TRUE(change_points({}).empty());
  EXPECT_TRUE(change_points({1, 1, 1, 9, 9}).empty());
  EXPECT_TRUE(change_points(std::vector<double>(50, 3.0)).empty());
}

// Two machines; from the seventh run on, one takes a tenth longer.
TEST(History, EachMachine_HasItsSeries) {
  std::vector<NamedRun> runs;
  for (int i = 11; i >= 0; --i)  // files come in any order
    for (const int ranks : {2, 4}) {
      NamedRun run{"run", test::toy_record()};
      run.record.system["world_size"] = ranks;
      run.record.provenance["dirty"] = false;
      run.record.provenance["commit"] = std::string(10, static_cast<char>('a' + i));
      run.record.provenance["started_at"] = "2026-01-" + std::to_string(10 + i) + "T00:00:00Z";
      run.record.recipe.settings["seed"] = i;
      for (double& s : run.record.steps.step_s) s = (1 + 0.001 * (i * 7 % 5)) * (ranks == 2 && i >= 6 ? 0.55 : 0.5);
      runs.push_back(run);
    }
  const std::string text = render_text(history(runs, "step time"), 300);
  EXPECT_TRUE(text.starts_with("1 step found in time of a step, median [ms], in 2 series.")) << text;
  const std::string step = line_with(text, "gggggggggg");
  EXPECT_NE(step.find("2 ranks gggggggggg 2026-01-16T00:00:00Z 500.75 551.10"), std::string::npos) << step;
  EXPECT_NE(step.find("+10."), std::string::npos) << step;
  const std::string constant = line_with(text, "4 ranks");
  EXPECT_NE(constant.find("4 ranks"), std::string::npos) << text;
  EXPECT_EQ(constant.find('|'), std::string::npos) << constant;
  EXPECT_NE(test::message_of([&] { history(runs, "step tme"); }).find("The nearest is 'step time'"), std::string::npos);
}

// Of fewer than kLeastSeries runs, more than kFalseAlarms of the orders put the low ones first: 2 of the 126 of 4 + 5.
TEST(History, ShortSeries_CannotShowAStep) {
  for (std::size_t n = 6; n < kLeastSeries; ++n) {
    std::vector<double> series(n, 1.0);
    std::fill(series.begin() + static_cast<std::ptrdiff_t>(n / 2), series.end(), 2.0);
    EXPECT_TRUE(change_points(series).empty()) << n;
  }
  EXPECT_EQ(change_points({1, 1, 1, 1, 1, 2, 2, 2, 2, 2}), std::vector<std::size_t>{5});
  std::vector<NamedRun> runs(4, NamedRun{"run", test::toy_record()});
  runs[3].record.steps.truncate(0);
  EXPECT_EQ(std::get<Paragraph>(history(runs, "step time")[0]).text,
      "Too few runs to find a step in time of a step, median [ms]: it takes 10 runs of one machine and recipe, and the "
      "longest of 1 series has 3. 1 of 4 results has no step time.");
}

// The runs of before a setting existed had its default, which a later run tells by what it changed.
TEST(History, ChangedNewSetting_IsAnotherSeries) {
  std::vector<NamedRun> runs(3, NamedRun{"run", test::toy_record()});
  for (int i = 0; i < 3; ++i) {
    runs[i].record.provenance["started_at"] = "2026-01-1" + std::to_string(i) + "T00:00:00Z";
    if (i > 0) runs[i].record.recipe.settings["precision"] = i == 1 ? "bf16" : "fp32";
  }
  runs[1].record.recipe.changes = {{{"key", "precision"}, {"default", "fp32"}, {"value", "bf16"}}};
  const std::string text = render_text(history(runs, "step time"), 300);
  EXPECT_NE(text.find("of 2 series has 2."), std::string::npos) << text;
  EXPECT_NE(line_with(text, "precision bf16").find(" 1 500.00"), std::string::npos) << text;
}

}  // namespace
}  // namespace ttt::reports
