// How long comparisons may take: what an ablation says, unless the user does.
#include <gtest/gtest.h>

#include "eval/mask_rcnn.h"
#include "measure/runner.h"
#include "tests/support/ranges.h"

namespace ttt::ablations {
namespace {

std::vector<Pairing> pairings_of(const std::string& names) {
  return pairings(chosen({.names = names}), "one_off", {}, 0, train::Recipe(eval::mask_rcnn()));
}

// A number without a range reaches the allocator, whatever it is. AblateRecipe holds every setting of a training, too.
TEST(Limits, EveryNumber_HasFiniteRange) { test::expect_ranges(result::field_table(AblateRecipe(eval::mask_rcnn()))); }

TEST(Limits, UsersLimits_OverruleTheAblations) {
  const Pairing usual = pairings_of("optimizer")[0], planted = pairings_of("planted")[0];
  EXPECT_EQ(limit_s(usual, {}), harness::PairedSettings().limit_s);
  EXPECT_GT(limit_s(planted, {}), limit_s(usual, {}));
  EXPECT_EQ(limit_s(usual, {.limit_s = 7}), 7);
  EXPECT_EQ(limit_s(planted, {.limit_s = 7}), 7);
}

TEST(Limits, Proofs_AreNotCutByBudget) {
  const auto planted = pairings_of("planted"), usual = pairings_of("optimizer");
  EXPECT_EQ(budget_s(usual, {}), 1200);
  EXPECT_EQ(budget_s(planted, {}), 20 * limit_s(planted[0], {}));
  EXPECT_GT(budget_s(planted, {}), 1200);
  auto both = planted;
  both.insert(both.end(), usual.begin(), usual.end());
  EXPECT_EQ(budget_s(both, {}), budget_s(planted, {}));
  EXPECT_EQ(budget_s(planted, {.limit_s = 7}), 1200);
  EXPECT_EQ(budget_s(planted, {.budget_s = 50}), 50);
  both = planted;
  for (Pairing& p : both) p.unsupported = "not here";
  EXPECT_EQ(budget_s(both, {}), 1200);
}

TEST(Limits, Plan_SaysOnlyWhatIsAhead) {
  AblateRecipe recipe(eval::mask_rcnn());
  recipe.train.epochs = 3;
  Ablation trained{.name = "t", .variants = {{.name = "a"}, {.name = "b"}}, .convergence = {.seeds = 2}};
  Plan plan{.pairings = pairings_of("optimizer"), .budget_s = 1200};
  ASSERT_EQ(plan.pairings.size(), 2u);
  const std::string minutes = "at most 2 min (longer where 8 builds of each take longer)";
  EXPECT_EQ(plan_text(plan, 1, recipe), "2 comparisons of 1 ablation, " + minutes);
  plan.trainings = {trained};
  EXPECT_EQ(plan_text(plan, 2, recipe), "2 comparisons of 2 ablations, " + minutes +
                                            "; before, and not in these minutes, 4 trainings of 12 epochs in all");
  plan.pairings[0].unsupported = "needs a GPU";
  plan.trainings.clear();
  EXPECT_EQ(plan_text(plan, 1, recipe),
      "1 comparison of 1 ablation, at most 1 min (longer where 8 builds of each take longer); 1 cannot run here");
  plan.pairings[1].unsupported = "needs a GPU";
  EXPECT_EQ(plan_text(plan, 1, recipe), "no comparison can run here");
  plan.pairings.clear(), plan.trainings = {trained};
  EXPECT_EQ(plan_text(plan, 1, recipe), "4 trainings of 12 epochs in all");
}

}  // namespace
}  // namespace ttt::ablations
