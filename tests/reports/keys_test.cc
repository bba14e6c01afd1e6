// The language of filters and projections, as golang.org/x/perf/benchproc/syntax documents it.
#include "reports/keys.h"

#include <gtest/gtest.h>

#include "tests/support/message_of.h"

namespace ttt::reports {
namespace {

const result::Json kDocument = {{"verdict", "passed"},
    {"system", {{"world_size", 2}, {"nodes", {{{"cpu", "AMD EPYC"}}}}}},
    {"recipe", {{"settings", {{"data", {{"workers", 4}}}, {"mode", "a(b"}}}}}, {"data", {{"train_images", 64}}}};

Subject subject() {
  return {.document = &kDocument,
      .group = "A",
      .file = "x/1.json",
      .name = "Encode",
      .fullname = "Encode: json",
      .unit = "step time"};
}

TEST(Keys, Paths_SettingsAndOwnKeys) {
  for (const auto& [key, value] : std::vector<std::pair<std::string, std::string>>{{"system.world_size", "2"},
           {"system.nodes.0.cpu", "AMD EPYC"}, {"data.workers", "4"}, {"recipe.settings.data.workers", "4"},
           {"data.train_images", "64"}, {".unit", "step time"}, {".group", "A"}, {".file", "x/1.json"}})
    EXPECT_EQ(value_of(subject(), key), value) << key;
  for (const char* key : {"system.nodes.1.cpu", "system.world_size.x", "none", ".none", "a/b~c"})
    EXPECT_FALSE(value_of(subject(), key)) << key;
}

TEST(Filter, DocumentedTerms_Match) {
  for (const auto& [expression, matches] :
      std::vector<std::pair<std::string, bool>>{{"*", true}, {"verdict:passed", true}, {"verdict:pass", false},
          {"verdict:/pass/", true}, {"-verdict:passed", false}, {"verdict:(smoke OR passed)", true},
          {"verdict:(smoke OR /^f/)", false}, {"verdict:passed system.world_size:2", true},
          {"verdict:passed AND system.world_size:4", false}, {"verdict:smoke OR system.world_size:2", true},
          {"verdict:smoke OR verdict:failed OR *", true}, {"-(verdict:smoke OR system.world_size:2)", false},
          {"verdict:smoke system.world_size:2 OR data.workers:4", true}, {".unit:\"step time\"", true},
          {"\"verdict\":passed", true}, {"mode:\"a(b\"", true}, {"none:\"\"", true}, {".file:/x\\/1/", true},
          {"--verdict:passed", true}})
    EXPECT_EQ(Filter(expression).matches(subject()), matches) << expression;
}

TEST(Filter, Faults_NamePlaceAndRemedy) {
  for (const auto& [expression, part] : std::vector<std::pair<std::string, std::string>>{{"", "expected a key"},
           {"verdict", "expected ':' and a value at the end"}, {"verdict:", "expected a value at the end"},
           {"(verdict:a", "expected ')'"}, {"verdict:(a b)", "expected OR or ')' at 'b)'"},
           {"verdict:/(/", "regular expression"}, {"verdict:/a", "regular expression that ends with /"},
           {"verdict:\"a", "ends with \""}, {"a:b )", "at ')'"}}) {
    const std::string message = test::message_of([&, e = expression] { Filter{e}; });
    EXPECT_NE(message.find(part), std::string::npos) << expression << ": " << message;
    EXPECT_NE(message.find("Write for example"), std::string::npos);
  }
}

TEST(Projection, Orders_AndLists) {
  const auto sorted = [](const std::string& expression, std::vector<std::vector<std::string>> tuples) {
    Projection("--row", expression).sort(tuples);
    std::string text;
    for (const auto& t : tuples) text += t[0] + " ";
    return text;
  };
  EXPECT_EQ(sorted("k", {{"10"}, {"9"}, {"b"}}), "10 9 b ");
  EXPECT_EQ(sorted("k@num", {{"10"}, {"9"}}), "9 10 ");
  EXPECT_EQ(sorted("k@alpha", {{"9"}, {"10"}}), "10 9 ");
  EXPECT_EQ(sorted("k@(gob json)", {{"json"}, {"gob"}}), "gob json ");
  const Projection some("--col", "verdict@(smoke failed), system.world_size");
  EXPECT_FALSE(some.admits(subject()));
  EXPECT_EQ(some.title(some.project(subject())), "verdict:passed system.world_size:2");
  Projection config("--row", ".config data.workers");
  config.expand_config({"data.workers", "mode"});
  EXPECT_EQ(config.keys(), (std::vector<std::string>{"mode", "data.workers"}));
  EXPECT_NE(test::message_of([] { Projection("--row", "k@upwards"); }).find("--row 'k@upwards'"), std::string::npos);
}

}  // namespace
}  // namespace ttt::reports
