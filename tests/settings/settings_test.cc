// Settings as JSON and as a flat table: one declaration, everything from it.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/error.h"
#include "settings/fields_json.h"
#include "tests/support/toy_settings.h"

namespace ttt::result {
namespace {

using test::ToyRecipe;

TEST(FieldTable, Fields_InOrderWithDottedKeys) {
  const ToyRecipe recipe;
  std::vector<std::string> keys;
  for (const Field& f : field_table(recipe).fields) keys.push_back(f.key);
  EXPECT_EQ(keys, (std::vector<std::string>{"solver.lr", "solver.decay.epochs", "solver.decay.factor",
                      "solver.schedule", "seed", "amp", "title", "mean", "empty", "names"}));
}

TEST(FieldTable, Assign_WritesBack) {
  ToyRecipe recipe;
  FieldTable table = field_table(recipe);
  table.find("solver.decay.factor")->value = 0.25;
  table.find("amp")->value = true;
  table.find("mean")->value = std::vector<double>{4.5};
  assign(table, recipe);
  EXPECT_EQ(recipe.solver.decay.factor, 0.25);
  EXPECT_TRUE(recipe.amp);
  EXPECT_EQ(recipe.mean, std::vector<double>{4.5});
  EXPECT_EQ(recipe.solver.lr, 0.02);
}

TEST(FieldTable, Limits_IncludeTheirEdges) {
  EXPECT_EQ(check_limits(0.0, between(0, 1)), "");
  EXPECT_EQ(check_limits(1.0, between(0, 1)), "");
  EXPECT_EQ(check_limits(std::nextafter(1.0, 2.0), between(0, 1)), "must be in [0, 1]");
  EXPECT_EQ(check_limits(std::int64_t{-1}, between(0, 1e9)), "must be in [0, 1e+09]");
  EXPECT_EQ(check_limits(std::int64_t{1} << 62, between(0, 1e9)), "must be in [0, 1e+09]");
  EXPECT_EQ(check_limits(std::vector<std::int64_t>{3, -4}, between(0, 5)), "must be in [0, 5] (element 1)");
  EXPECT_EQ(check_limits(std::vector<double>{}, between(0, 5).count(1, 16)), "must have 1 to 16 elements and has 0");
  EXPECT_EQ(check_limits(std::vector<std::int64_t>{1, 2}, between(0, 5).count(3, 3)), "must have 3 elements and has 2");
  EXPECT_EQ(check_limits(std::string("steps"), one_of({"step", "cosine"})), "must be one of 'step', 'cosine'");
  EXPECT_EQ(check_limits(std::vector<std::string>{"step", "stop"}, one_of({"step", "cosine"})),
      "must be one of 'step', 'cosine' ('stop' is none)");
  EXPECT_EQ(check_limits(std::numeric_limits<double>::quiet_NaN(), between(0, 1)), "must be finite");
  EXPECT_EQ(check_limits(std::numeric_limits<double>::infinity(), between(0, 1)), "must be finite");
}

TEST(FieldTable, Numbers_ShortestThatReadsBack) {
  EXPECT_EQ(number_text(0.1), "0.1");
  EXPECT_EQ(number_text(1), "1.0");
  EXPECT_EQ(number_text(-0.0), "-0.0");
  EXPECT_EQ(number_text(1e-7), "1e-07");
  for (const double v : {1.0 / 3, 5e-324, 1.7976931348623157e308, 0.30000000000000004})
    EXPECT_EQ(std::strtod(number_text(v).c_str(), nullptr), v);
}

TEST(FieldsJson, IsNestedAsDeclared) {
  const Json expected =
      Json::parse(R"({"solver": {"lr": 0.02, "decay": {"epochs": [12, 16], "factor": 0.1}, "schedule": "step"},
    "seed": 1, "amp": false, "title": "a \"quoted\" \\ title\n\ttwo lines | \u0001", "mean": [123.675, 116.28, 1e-7],
     "empty": [], "names": ["one", "t\"wo"]})");
  const ToyRecipe recipe;
  EXPECT_EQ(fields_json(recipe), expected);
}

TEST(FieldsJson, ChangesNameKeyDefaultAndValue) {
  ToyRecipe recipe;
  const FieldTable defaults = field_table(recipe);
  EXPECT_EQ(fields_changed(defaults, defaults), Json::array());
  recipe.solver.lr = 0.5;
  EXPECT_EQ(fields_changed(defaults, field_table(recipe)),
      Json::parse(R"([{"key": "solver.lr", "default": 0.02, "value": 0.5}])"));
}

TEST(FieldsJson, Hash_DiffersWithEachSetting) {
  ToyRecipe recipe;
  const std::string before = fields_sha256(field_table(recipe));
  recipe.solver.lr = std::nextafter(recipe.solver.lr, 1.0);
  EXPECT_NE(fields_sha256(field_table(recipe)), before);
  recipe.solver.lr = 0.02;
  EXPECT_EQ(fields_sha256(field_table(recipe)), before);
}

}  // namespace
}  // namespace ttt::result
