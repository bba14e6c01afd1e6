// Which comparisons a design makes, and under which settings.
#include "measure/design.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "eval/mask_rcnn.h"
#include "measure/pair_run.h"
#include "tests/support/message_of.h"

namespace ttt::ablations {
namespace {

using test::message_of;

Setting images(std::int64_t n) {
  return {.name = std::to_string(n) + " images", .change = [n](train::Recipe& r) { r.train.images_per_rank = n; }};
}

Ablation plain(const char* name, std::function<void(train::Recipe&)> change) {
  return {.name = name,
      .question = "Why?",
      .expectation = "Nothing.",
      .variants = {{.name = "off"}, {.name = "on", .change = std::move(change)}}};
}
Ablation workers() {
  return plain("workers", [](train::Recipe& r) { r.data.workers += 3; });
}
Ablation seeds() {
  return plain("seeds", [](train::Recipe& r) { r.seed += 1; });
}
Ablation shapes() {
  Ablation a = plain("shapes", [](train::Recipe& r) {
    r.model.as<model::ModelConfig>().shapes =
        r.model.as<model::ModelConfig>().shapes == "static" ? "dynamic" : "static";
  });
  a.settings = {images(3), images(5)};
  return a;
}

std::vector<Pairing> designed(const std::vector<Ablation>& ablations, const std::string& design) {
  return pairings(ablations, design, {}, 0, train::Recipe(eval::mask_rcnn()));
}

std::vector<std::string> settings_of_rows(const std::vector<Pairing>& rows) {
  std::vector<std::string> names;
  for (const Pairing& p : rows) names.push_back(p.setting.name);
  return names;
}

TEST(Design, EverySetting_HasEveryDesign) {
  const std::size_t rows_of_a_setting[] = {2, 3, 3};
  std::size_t i = 0;
  for (const char* design : {"leave_one_out", "ladder", "factorial"}) {
    const auto rows = designed({shapes(), workers()}, design);
    ASSERT_EQ(rows.size(), 2 * rows_of_a_setting[i]) << design;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      EXPECT_EQ(rows[r].setting.name, r < rows_of_a_setting[i] ? "3 images" : "5 images") << design;
      ASSERT_TRUE(rows[r].setting.change) << design;
      train::Recipe recipe(eval::mask_rcnn());
      rows[r].setting.change(recipe);
      EXPECT_EQ(recipe.train.images_per_rank, r < rows_of_a_setting[i] ? 3 : 5);
      EXPECT_EQ(rows[r].variant.name, rows[r % rows_of_a_setting[i]].variant.name) << design;
    }
    ++i;
  }
  EXPECT_EQ(settings_of_rows(designed({shapes()}, "null")), (std::vector<std::string>{"3 images", "5 images"}));
  EXPECT_EQ(settings_of_rows(designed({shapes()}, "one_off")), (std::vector<std::string>{"3 images", "5 images"}));
}

TEST(Design, NoSettings_UsesTheRecipe) {
  EXPECT_EQ(settings_of_rows(designed({seeds(), workers()}, "ladder")), (std::vector<std::string>{"", "", ""}));
  EXPECT_EQ(settings_of_rows(designed({workers()}, "null")), std::vector<std::string>{""});
}

TEST(Design, LostSettings_AreRefused) {
  Ablation other = workers();
  other.settings = {{.name = "one epoch", .change = [](train::Recipe& r) { r.train.epochs = 1; }}};
  const std::string both = message_of<UsageError>([&] { designed({shapes(), other}, "factorial"); });
  EXPECT_NE(both.find("'shapes' and 'workers' both have settings of their own"), std::string::npos) << both;
  // A factor that sets what the setting sets would undo it.
  const Ablation same_key = plain("batch", [](train::Recipe& r) { r.train.images_per_rank = 7; });
  const std::string undone = message_of<UsageError>([&] { designed({shapes(), same_key}, "ladder"); });
  EXPECT_NE(undone.find("'shapes' and 'batch' both set train.images_per_rank"), std::string::npos) << undone;
  // What runs something else than a training step is refused, whoever says so.
  Ablation alone = shapes();
  alone.settings[1].arm = [](const Bench&) -> std::unique_ptr<Arm> { return nullptr; };
  const std::string by_itself = message_of<UsageError>([&] { designed({alone, workers()}, "ladder"); });
  EXPECT_NE(by_itself.find("'shapes' measures an operation by itself"), std::string::npos) << by_itself;
}

TEST(Components, TwoOwnersOfASlot_Refused) {
  Components c = components_of({});
  EXPECT_TRUE(c.replaced().empty());
  c.step.replace("first", [](auto&) { return nullptr; });
  EXPECT_EQ(c.replaced(), std::vector<std::string>{"step"});
  EXPECT_EQ(message_of<UsageError>([&] { c.step.replace("second", [](auto&) { return nullptr; }); }),
      "'first' and 'second' both set the step, so one would undo the other: combine only one of them.");
}

TEST(Components, AblationsOfOneSlot_NotCombined) {
  const auto replacing = [](const char* name) {
    Ablation a = plain(name, nullptr);
    a.variants[1].components = [name](Components& c) { c.optimizer.replace(name, [](auto&) { return nullptr; }); };
    return a;
  };
  EXPECT_NE(message_of<UsageError>([&] {
    designed({replacing("a"), replacing("b")}, "ladder");
  }).find("'a' and 'b' both set the optimizer"),
      std::string::npos);
}

// Two costs of the same step: 1.05 / 1.02 = 1 + 3 / 102.
TEST(Design, PlantedCosts_GiveTheTruth) {
  Pairing p{.baseline = {.name = "A", .planted = 0.02}, .variant = {.name = "B", .planted = 0.05}, .built_alike = true};
  EXPECT_NEAR(empty_row(p).known_effect.value(), 3. / 102, 1e-15);
  p.baseline.planted = 0;
  EXPECT_NEAR(empty_row(p).known_effect.value(), 0.05, 1e-15);
  p.variant.planted = 0;
  EXPECT_EQ(empty_row(p).known_effect.value(), 0);
  p.built_alike = false;
  EXPECT_FALSE(empty_row(p).known_effect);
}

}  // namespace
}  // namespace ttt::ablations
