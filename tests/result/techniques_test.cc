// Techniques as rows: what is folded, how rows are ranked, where a side stands towards the recipe.
#include "result/techniques.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/rng.h"
#include "tests/support/toy_record.h"

namespace ttt::result {
namespace {

// Builds of one round each, whose variant takes `centre` times the baseline's time, give or take `spread`.
Comparison row(const std::string& ablation, double centre, double spread = 0, std::uint64_t seed = 1) {
  Comparison c = test::toy_ablation().comparisons[0];
  c.ablation = ablation;
  Stream random(random_bits(seed, Purpose::kTest, 3));
  for (std::size_t i = 0; i < c.samples.size(); ++i)
    c.samples.variant_s[i] = c.samples.baseline_s[i] * (centre + random.uniform(-spread, spread));
  return c;
}

// The variant sets `variant`, the baseline `baseline`.
Comparison with_sides(Comparison c, const Json& baseline, const Json& variant) {
  c.against_recipe = {{.sets = baseline}, {.sets = variant}};
  return c;
}

Technique only_row(const Comparison& c) {
  static RunRecord record;
  record.comparisons = {c};
  return techniques({&record}).ranked.at(0);
}

TEST(Techniques, Rows_FoldedExactlyWithZero) {
  RunRecord record;
  for (std::uint64_t n = 0; n < 200; ++n)
    record.comparisons.push_back(row("a" + std::to_string(n), 0.9 + 0.001 * static_cast<double>(n), 0.05, n));
  const Techniques all = techniques({&record});
  EXPECT_EQ(all.ranked.size() + all.alike.size(), 200u);
  ASSERT_TRUE(all.ranked.size() > 20 && all.alike.size() > 20);
  for (const auto& rows : {all.ranked, all.alike})
    for (const Technique& t : rows) {
      EXPECT_LE(t.effect.low, t.effect.estimate);
      EXPECT_GE(t.effect.high, t.effect.estimate);
    }
  for (const Technique& t : all.ranked) EXPECT_TRUE(t.effect.low > 0 || t.effect.high < 0);
  for (const Technique& t : all.alike) EXPECT_TRUE(t.effect.low <= 0 && t.effect.high >= 0);
}

TEST(Techniques, Ranking_IsTotal) {
  RunRecord record;
  for (int n = 0; n < 30; ++n) record.comparisons.push_back(row("a" + std::to_string(n), n % 3 ? 1.2 : 0.8));
  std::vector<std::string> first;
  for (int turn = 0; turn < 10; ++turn) {
    std::rotate(record.comparisons.begin(), record.comparisons.begin() + 7, record.comparisons.end());
    std::vector<std::string> names;
    double before = -1;
    for (const Technique& t : techniques({&record}).ranked) {
      EXPECT_GE(t.effect.estimate, before);
      names.push_back(t.name), before = t.effect.estimate;
    }
    if (first.empty()) first = names;
    EXPECT_EQ(names, first);
  }
}

TEST(Techniques, Sides_TellWhatRecipeHas) {
  const Json none = Json::object(), bf16 = {{"model.precision", "bf16"}}, blocking = {{"kind", "blocking"}};
  EXPECT_EQ(place_text(only_row(with_sides(row("p", 0.7), none, bf16))), "--set model.precision=bf16");
  EXPECT_EQ(place_text(only_row(with_sides(row("r", 1.1), blocking, none))), "in your recipe, slower");
  EXPECT_EQ(place_text(only_row(with_sides(row("r", 0.9), blocking, none))), "in your recipe");
  EXPECT_EQ(place_text(only_row(with_sides(row("r", 0.9), blocking, {{"kind", "flat"}}))), "neither is yours");
  // what both sides set is a condition, and no difference of theirs
  const Technique both = only_row(with_sides(row("w", 0.9), {{"n", 2}}, {{"n", 2}, {"data.workers", 1}}));
  EXPECT_EQ(place_text(both), "--set data.workers=1");
  EXPECT_EQ(both.conditions, std::vector<std::string>{"n=2"});
  Comparison replaced = with_sides(row("o", 0.9), none, none);
  replaced.against_recipe->variant.replaces = {"optimizer"};
  EXPECT_EQ(place_text(only_row(replaced)), "not in your recipe");
  EXPECT_EQ(place_text(only_row(row("x", 0.9))), "not known");
}

TEST(Techniques, Advice_OnlyWhatRecipeLacks) {
  const Json none = Json::object(), on = {{"x", "on"}};
  RunRecord record;
  record.comparisons = {with_sides(row("a", 0.7), none, on), with_sides(row("b", 1.25), {{"y", "off"}}, none),
      with_sides(row("c", 0.5), {{"n", 2}}, {{"n", 2}, {"z", 1}}), with_sides(row("d", 0.5), {{"u", 1}}, none),
      with_sides(row("disturbed", 0.5, 0.4), none, on), with_sides(row("operation", 0.5), none, on)};
  record.comparisons[0].promise = "other_work";
  record.comparisons[5].phases = Json::object();
  const Techniques all = techniques({&record});
  ASSERT_EQ(all.ranked.size(), 6u);
  for (const Technique& t : all.ranked) {
    EXPECT_EQ(t.disturbed, t.comparison->ablation == "disturbed");
    EXPECT_EQ(t.whole_step, t.comparison->ablation != "operation");
  }
  const auto remarks = advice_remarks(all, 0);
  ASSERT_EQ(remarks.size(), 1u);
  EXPECT_EQ(remarks[0].text, "--set x=on (-30.0 %, other numbers: check the accuracy), --set y=off (-20.0 %)");
}

// Fewer seconds a step are none saved where it takes more steps.
TEST(Techniques, Advice_NotOfTrainings) {
  RunRecord record;
  record.comparisons = {with_sides(row("sizes", 0.7), Json::object(), {{"x", "on"}})};
  ASSERT_EQ(advice_remarks(techniques({&record}), 0).size(), 1u);
  record.convergence = {{.ablation = "sizes", .baseline = "one size"}};
  EXPECT_TRUE(techniques({&record}).ranked[0].of_trainings);
  EXPECT_TRUE(advice_remarks(techniques({&record}), 0).empty());
}

TEST(Techniques, EarlierFile_RunTellsByBuilt) {
  RunRecord ablation, run;
  ablation.comparisons = {row("reducer", 1.1)};
  ablation.comparisons[0].built = {{"reducer", {{{"kind", "blocking"}}, {{"kind", "bucketed"}}}}};
  const auto placed = [&](const char* kind) {
    run.built = {{"reducer", {{"kind", kind}, {"bytes", 1}}}};
    return place_text(techniques({&ablation, &run}).ranked[0]);
  };
  EXPECT_EQ(placed("bucketed"), "in your recipe, slower");
  // by which settings it would be, such a file does not say
  EXPECT_EQ(placed("blocking"), "not in your recipe");
  EXPECT_EQ(placed("flat"), "neither is yours");
}

// Short runs are made with settings of their own; passed runs that do not agree tell nothing.
TEST(Techniques, EarlierFile_PassedRunsTell) {
  RunRecord ablation, smoke, passed;
  ablation.comparisons = {row("reducer", 1.1)};
  ablation.comparisons[0].built = {{"reducer", {{{"kind", "blocking"}}, {{"kind", "bucketed"}}}}};
  smoke.built = {{"reducer", {{"kind", "blocking"}}}}, smoke.verdict = Verdict::kSmoke;
  passed.built = {{"reducer", {{"kind", "bucketed"}}}}, passed.verdict = Verdict::kPassed;
  EXPECT_EQ(place_text(techniques({&ablation, &smoke}).ranked[0]), "not in your recipe");
  EXPECT_EQ(place_text(techniques({&smoke, &ablation, &passed}).ranked[0]), "in your recipe, slower");
  RunRecord other = smoke;
  other.verdict = Verdict::kPassed;
  EXPECT_EQ(place_text(techniques({&ablation, &passed, &other}).ranked[0]), "not known");
}

TEST(Techniques, SelfTests_CountTheirTruth) {
  RunRecord record;
  for (int n = 0; n < 40; ++n) {
    record.comparisons.push_back(row("null", n < 36 ? 1 : 1.1));
    record.comparisons.back().known_effect = 0;
  }
  const SelfTest test = techniques({&record}).self_tests.at(0);
  EXPECT_EQ(test.text(), "36 of 40 intervals contain 0 (at least 35 wanted)");
  EXPECT_TRUE(test.holds());
}

TEST(Techniques, SelfTest_OnlyWhereMeasured) {
  RunRecord record;
  record.comparisons = std::vector(8, row("null", 1));
  for (Comparison& c : record.comparisons) c.known_effect = 0, c.status = "not_supported", c.reason = "needs a GPU";
  EXPECT_TRUE(techniques({&record}).self_tests.empty());
  ASSERT_EQ(techniques({&record}).not_measured.size(), 1u);
  EXPECT_EQ(techniques({&record}).not_measured[0].comparisons.size(), 8u);
  record.comparisons[0].status = "measured";
  EXPECT_EQ(techniques({&record}).self_tests.at(0).intervals, 1u);
}

TEST(Techniques, FoldedNames_KeepSettingAndRepetition) {
  Comparison plain = row("a", 1), set = plain, again = plain, other = row("b", 1);
  set.setting = "4 images a rank", again.repetition = 2;
  EXPECT_EQ(folded_names({&plain, &set, &again, &other}, {&plain}),
      "a (bucketed; bucketed #3; bucketed, 4 images a rank), b");
}

TEST(Techniques, WideInterval_IsDisturbed) {
  EXPECT_FALSE(is_disturbed(row("a", 1, 0.001)));
  EXPECT_TRUE(is_disturbed(row("a", 1, 0.4)));
}

// Two builds of which one is a tenth slower.
Comparison uneven() {
  Comparison c = row("a", 1);
  for (std::size_t i = 0; i < c.samples.size(); ++i) c.samples.variant_s[i] *= c.samples.build[i] == 0 ? 1.1 : 1;
  c.noise.clear();
  return c;
}

TEST(Disturbance, Counter_NamedWhereRecorded) {
  Comparison c = uneven();
  EXPECT_EQ(disturbance({&c}), "builds differ by 10 %. Repeat when quiet.");
  c.counters["preemptions"] = {260, 12};
  EXPECT_EQ(disturbance({&c}), "builds differ by 10 %, 260 preemptions a step. Repeat when quiet.");
}

TEST(Disturbance, Noise_NamedBeyondTheOrdinary) {
  Comparison c = uneven();
  const auto said = [&](const char* name, double baseline, double variant) {
    c.noise = {{name, {{baseline, baseline}, {variant, variant}}}};
    return disturbance({&c});
  };
  EXPECT_EQ(said("others", 0, 0.36),
      "builds differ by 10 %, other processes took 18 % of the processors. "
      "End them, or ask for whole nodes. Repeat when quiet.");
  EXPECT_EQ(said("stolen", 0.07, 0.07),
      "builds differ by 10 %, 7 % stolen by the host. "
      "Ask for processors that no other machine shares. Repeat when quiet.");
  EXPECT_EQ(said("clock_mhz", 2500, 2800),
      "builds differ by 10 %, the clock varied by 12 % between builds. "
      "Fix the clock rate, or let it cool down. Repeat when quiet.");
  for (const char* quiet : {"others", "stolen"})
    EXPECT_EQ(said(quiet, 0.05, 0.05), "builds differ by 10 %. Repeat when quiet.");
  EXPECT_EQ(said("clock_mhz", 2500, 2600), "builds differ by 10 %. Repeat when quiet.");
}

TEST(Techniques, Widths_LeaveOutDisturbed) {
  Technique quiet, other, wide;
  quiet.effect = {0, -0.01, 0.021}, other.effect = {0, -0.005, 0.005}, wide.effect = {0, -1.5, 0.5};
  wide.disturbed = true;
  EXPECT_EQ(widths_text({&quiet, &other}), "all intervals within +-2.1 %");
  EXPECT_EQ(widths_text({&quiet, &wide}), "intervals of the undisturbed rows within +-2.1 %");
  EXPECT_EQ(widths_text({&wide}), "all disturbed");
}

}  // namespace
}  // namespace ttt::result
