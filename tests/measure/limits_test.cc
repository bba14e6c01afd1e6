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

}  // namespace
}  // namespace ttt::ablations
