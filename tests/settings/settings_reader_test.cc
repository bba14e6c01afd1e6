// TOML and --set into settings: every wrong input is refused with its key, place and remedy.
#include "settings/settings_reader.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "core/nearest.h"
#include "core/temp_folder.h"
#include "settings/fields_json.h"
#include "settings/recipe_text.h"
#include "tests/support/message_of.h"
#include "tests/support/python.h"
#include "tests/support/toy_settings.h"

namespace ttt::harness {
namespace {

using result::field_table;
using result::FieldTable;
using result::FieldValue;
using test::ToyRecipe;

FieldTable toy_table() {
  const ToyRecipe recipe;
  return field_table(recipe);
}

// The message of reading `text`; the table must then be as it was.
std::string refusal(const std::string& text) {
  FieldTable table = toy_table();
  try {
    read_settings_text(table, text, "r.toml");
  } catch (const UsageError& e) {
    EXPECT_EQ(result::fields_json(table), result::fields_json(toy_table())) << "half-read: " << text;
    return e.what();
  }
  return "accepted";
}

std::string set_refusal(const std::vector<std::string>& sets) {
  FieldTable table = toy_table();
  try {
    std::vector<Override> overrides;
    for (const std::string& s : sets) overrides.push_back(parse_override(table, s));
    apply_overrides(table, overrides);
  } catch (const UsageError& e) {
    EXPECT_EQ(result::fields_json(table), result::fields_json(toy_table()));
    return e.what();
  }
  return "accepted";
}

FieldValue set_value(const std::string& key, const std::string& value) {
  FieldTable table = toy_table();
  apply_overrides(table, {{key, value, "--set"}});
  return table.find(key)->value;
}

TEST(SettingsReader, EveryType_TablesAndDottedKeys) {
  FieldTable table = toy_table();
  read_settings_text(table, R"(
seed = 7
amp = true
title = 'plain'
mean = [1, 2.5]
empty = []
names = ['three']
solver.lr = 1            # an integer is good for a number
[solver.decay]
epochs = [3, 4, 5]
factor = 0.5
)",
      "r.toml");
  ToyRecipe recipe;
  result::assign(table, recipe);
  EXPECT_EQ(recipe.seed, 7);
  EXPECT_TRUE(recipe.amp);
  EXPECT_EQ(recipe.title, "plain");
  EXPECT_EQ(recipe.mean, (std::vector<double>{1, 2.5}));
  EXPECT_EQ(recipe.names, std::vector<std::string>{"three"});
  EXPECT_EQ(recipe.solver.lr, 1.0);
  EXPECT_EQ(recipe.solver.decay.epochs, (std::vector<std::int64_t>{3, 4, 5}));
  EXPECT_EQ(recipe.solver.schedule, "step");  // not named: kept
}

TEST(SettingsReader, Refusals_NameKeyLineRemedy) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"seed = 1\n[solver]\nlearning = 3\n",
          "r.toml, line 3: Unknown key 'solver.learning'. --print-recipe lists all."},
      {"sede = 1", "r.toml, line 1: Unknown key 'sede'. The nearest is 'seed'; --print-recipe lists all."},
      {"factor = 1",
          "r.toml, line 1: Unknown key 'factor'. The nearest is 'solver.decay.factor'; --print-recipe lists "
          "all."},
      {"[slover]\nlr = 1", "r.toml, line 1: Unknown key 'slover'. The nearest is 'solver'"},
      {"\nseed = 'one'", "r.toml, line 2: 'seed' expects an integer, found a string."},
      {"seed = 1.0", "r.toml, line 1: 'seed' expects an integer, found a number with a fraction."},
      {"amp = 1", "r.toml, line 1: 'amp' expects a boolean, found an integer."},
      {"solver.lr = '0.1'", "r.toml, line 1: 'solver.lr' expects a number, found a string."},
      {"title = 1979-05-27", "r.toml, line 1: 'title' expects a string, found a date."},
      {"mean = 3.0", "r.toml, line 1: 'mean' expects a list of numbers, found a number with a fraction."},
      {"mean = [1.0, 'a']", "r.toml, line 1: 'mean' expects a list of numbers, found a list with a string."},
      {"solver.decay.epochs = [1, 2.5]",
          "r.toml, line 1: 'solver.decay.epochs' expects a list of integers, found a list with a number with a "
          "fraction."},
      {"solver = 3",
          "r.toml, line 1: 'solver' is a group of settings, found an integer. Write [solver] and its settings below."},
      {"[seed]\na = 1", "r.toml, line 1: 'seed' expects an integer, found a table."},
      {"solver.lr = -0.5", "r.toml, line 1: 'solver.lr' must be in [0, 1000], found -0.5."},
      {"solver.lr = nan", "r.toml, line 1: 'solver.lr' must be finite, found nan."},
      {"solver.lr = inf", "r.toml, line 1: 'solver.lr' must be finite, found inf."},
      {"solver.decay.factor = 2", "r.toml, line 1: 'solver.decay.factor' must be in [0, 1], found 2."},
      {"solver.decay.epochs = [1, -2]", "r.toml, line 1: 'solver.decay.epochs' must be in [0, 9.3e+18] (element 1)."},
      {"solver.schedule = 'linear'",
          "r.toml, line 1: 'solver.schedule' must be one of 'step', 'cosine', found 'linear'."},
      {"names = 'one'", "r.toml, line 1: 'names' expects a list of strings, found a string."},
      {"names = ['one', 2]", "r.toml, line 1: 'names' expects a list of strings, found a list with an integer."},
      {"names = ['one', 'four']", "r.toml, line 1: 'names' must be one of 'one', 't\"wo', 'three' ('four' is none)."},
      {"seed = 1\nseed = 2", "r.toml, line 2: not valid TOML: "},
      {"seed = \n", "r.toml, line 1: not valid TOML: "},
      {"seed = 1\nsolver.lr = -1\nxyz = 2\nfoo = 3",
          "r.toml, line 2: 'solver.lr' must be in [0, 1000], found -1. (2 more in this file.)"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(refusal(text).substr(0, expected.size()), expected) << text;
}

TEST(SettingsReader, NestedBeyondLimit_IsRefusedUnparsed) {
  const auto repeated = [](const std::string& text, int times) {
    std::string out;
    for (int i = 0; i < times; ++i) out += text;
    return out;
  };
  const std::string refused = "r.toml: tables, lists or dotted keys are nested more than 64 deep. Write them flatter.";
  for (const int levels : {70, 200000})
    for (const std::string& text : {repeated("a.", levels) + "a = 1", "[" + repeated("a.", levels) + "a]",
             "mean = " + repeated("[", levels) + repeated("]", levels),
             "x = " + repeated("{a.b = ", levels) + "1" + repeated("}", levels),
             "title = 'a' # ]\nx = [\n" + repeated("[", levels)})
      EXPECT_EQ(refusal(text), refused);
  // Signs in strings and comments nest nothing.
  for (const std::string& text :
      {"title = \"" + repeated(R"([.\")", 100) + "\"\nnames = ['one']#" + repeated("[.", 100),
          "title = '''" + repeated("[.\n''", 100) + "'''\nseed = 2",
          repeated("# 1.2.3\n", 100) + "mean = [" + repeated("0.5, \n", 4) + "]",
          R"(title = """)" + repeated(R"([\"")", 100) + "\"\"\"\"\nsolver.lr = 0.5"})
    EXPECT_EQ(refusal(text), "accepted") << text;
}

TEST(SettingsReader, FileBeyondLimit_IsRefused) {
  const TempFolder folder;
  FieldTable table = toy_table();
  const auto read = [&](std::size_t bytes) {
    std::string text;
    for (int i = 1000000; text.size() + 20 < bytes; --i) text += "k" + std::to_string(i) + "=1\n";
    test::write_text(folder / "big.toml", text + std::string(bytes - text.size(), '#'));
    return test::message_of<UsageError>([&] { read_settings_file(table, folder / "big.toml"); });
  };
  EXPECT_NE(read((1 << 20) + 1).find("has 1048577 bytes, and the limit is 1 MB. Name"), std::string::npos);
  EXPECT_NE(read(1 << 20).find("line 1: Unknown key 'k1000000'"), std::string::npos);
}

TEST(SettingsReader, Overrides_WithoutQuotesOrBrackets) {
  EXPECT_EQ(set_value("seed", "7"), FieldValue(std::int64_t{7}));
  EXPECT_EQ(set_value("solver.lr", "1e-3"), FieldValue(1e-3));
  EXPECT_EQ(set_value("solver.lr", "2"), FieldValue(2.0));
  EXPECT_EQ(set_value("amp", "true"), FieldValue(true));
  EXPECT_EQ(set_value("title", "two words = one"), FieldValue(std::string("two words = one")));
  EXPECT_EQ(set_value("title", "'quoted'"), FieldValue(std::string("quoted")));
  EXPECT_EQ(set_value("title", "1"), FieldValue(std::string("1")));
  EXPECT_EQ(set_value("title", ""), FieldValue(std::string()));
  EXPECT_EQ(set_value("title", "line\nline"), FieldValue(std::string("line\nline")));
  EXPECT_EQ(set_value("names", "one,three"), FieldValue(std::vector<std::string>{"one", "three"}));
  EXPECT_EQ(set_value("names", "['one']"), FieldValue(std::vector<std::string>{"one"}));
  EXPECT_EQ(set_value("names", "\"one\", 'three'"), FieldValue(std::vector<std::string>{"one", "three"}));
  EXPECT_EQ(set_value("names", ""), FieldValue(std::vector<std::string>{}));
  EXPECT_EQ(set_value("solver.decay.epochs", "4,8"), FieldValue(std::vector<std::int64_t>{4, 8}));
  EXPECT_EQ(set_value("solver.decay.epochs", "[4, 8]"), FieldValue(std::vector<std::int64_t>{4, 8}));
  EXPECT_EQ(set_value("solver.decay.epochs", "4"), FieldValue(std::vector<std::int64_t>{4}));
  EXPECT_EQ(set_value("mean", ""), FieldValue(std::vector<double>{}));
}

TEST(SettingsReader, OverrideRefusalsNameTheArgument) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"solver.lr"}, "--set solver.lr: expected key=value."}, {{"=3"}, "--set =3: expected key=value."},
      {{"lr=3"}, "--set lr=3: Unknown key 'lr'. The nearest is 'solver.lr'; --print-recipe lists all."},
      {{"solver=3"}, "--set solver=3: 'solver' is a group of settings."},
      {{"seed=abc"}, "--set seed=abc: 'seed' expects an integer, found 'abc'."},
      {{"seed="}, "--set seed=: 'seed' expects an integer, found ''."},
      {{"seed=1.5"}, "--set seed=1.5: 'seed' expects an integer, found a number with a fraction."},
      {{"seed=1\namp=true"}, "--set seed=1\\x0aamp=true: 'seed' expects an integer, found '1\\x0aamp=true'."},
      {{"seed=99999999999999999999"}, "--set seed=99999999999999999999: 'seed' expects an integer"},
      {{"solver.lr=-1"}, "--set solver.lr=-1: 'solver.lr' must be in [0, 1000], found -1."},
      {{"seed=1", "seed=2"}, "--set seed=2: 'seed' is given twice on the command line. Give it once."},
      {{"title=\xff\xfe"}, "--set title=\xff\xfe: the value is not UTF-8 text."},
      {{"title=\xed\xa0\x80"}, "--set title=\xed\xa0\x80: the value is not UTF-8 text."},  // a surrogate
      {{"title=\xe2\x82"}, "--set title=\xe2\x82: the value is not UTF-8 text."},          // cut short
  };
  for (const auto& [sets, expected] : cases) EXPECT_EQ(set_refusal(sets).substr(0, expected.size()), expected);
  EXPECT_EQ(set_refusal({"title=\xe2\x82\xac \xf0\x9f\x98\x80"}), "accepted");
}

TEST(SettingsReader, ReadsFiles) {
  TempFolder folder;
  test::write_text(folder / "small.toml", "seed = 5\n");
  ToyRecipe recipe;
  read_settings_file(recipe, folder / "small.toml");
  EXPECT_EQ(recipe.seed, 5);
  EXPECT_THROW(read_settings_file(recipe, folder / "none.toml"), UsageError);
  EXPECT_THROW(read_settings_file(recipe, folder.path()), UsageError);
}

TEST(RecipeText, ReadsBackToTheSameSettings) {
  ToyRecipe recipe;
  recipe.solver.lr = 0.1 + 0.2;  // 17 digits
  recipe.mean = {-0.0, 5e-324, 1.7976931348623157e308, 3};
  recipe.solver.decay.epochs = {std::numeric_limits<std::int64_t>::max(), 0};
  recipe.title += "\r\n\x7f\xe2\x82\xac\"\"\"";
  const FieldTable written = field_table(recipe);
  FieldTable read = toy_table();
  read_settings_text(read, recipe_toml(written), "printed");
  EXPECT_EQ(result::dump(result::fields_json(read), -1), result::dump(result::fields_json(written), -1));
}

TEST(SettingsReader, ResultAsRecipe_RepeatsItsSettings) {
  ToyRecipe recipe;
  recipe.solver.lr = 0.1 + 0.2;
  recipe.mean = {-0.0, 5e-324, 1e300, 3};
  recipe.title += "\r\n\x7f\xe2\x82\xac\"\"\"\\";
  const FieldTable written = field_table(recipe);
  TempFolder folder;
  const std::string file = (folder / "r.json").string();
  const auto message = [&](const result::Json& document) {
    test::write_text(file, result::dump(document));
    FieldTable read = toy_table();
    try {
      read_recipe_named(read, {}, file);
    } catch (const Error& e) { return std::string(e.what()); }
    return result::dump(result::fields_json(read), -1);
  };
  const result::Json settings = result::fields_json(written);
  EXPECT_EQ(message({{"recipe", {{"settings", settings}}}}), result::dump(settings, -1));
  EXPECT_NE(message({{"recipe", "toy"}}).find("r.json' is no result with the settings of a run"), std::string::npos);
  EXPECT_NE(message({{"recipe", {{"settings", {{"sed", 1}}}}}}).find("'seed'"), std::string::npos);
}

// Python's own TOML reader sees the values that the JSON holds.
TEST(RecipeText, TomllibReadsWhatTheJsonHolds) {
  TTT_NEED_PYTHON("tomllib");
  TempFolder folder;
  test::write_text(folder / "r.toml", recipe_toml(toy_table()));
  test::write_text(folder / "r.json", result::dump(result::fields_json(toy_table())));
  const auto check = test::run_command(
      test::python() + " -c \"import tomllib, json; a = tomllib.load(open('" + (folder / "r.toml").string() +
      "', 'rb')); b = json.load(open('" + (folder / "r.json").string() +
      "')); assert a == b and repr(sorted(a['solver'].items())) == repr(sorted(b['solver'].items())), (a, b)\" 2>&1");
  EXPECT_EQ(check.status, 0) << check.output;
}

TEST(RecipeText, EveryFieldHasItsDocumentation) {
  const std::string toml = recipe_toml(toy_table());
  EXPECT_NE(toml.find("# base learning rate [1/step] (in [0, 1000])\nlr = 0.02\n"), std::string::npos) << toml;
  EXPECT_NE(toml.find("# step decay\n[solver.decay]\n"), std::string::npos);
}

TEST(Nearest, DistancesAreTheTextbookOnes) {
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
  EXPECT_EQ(edit_distance("", "abc"), 3);
  EXPECT_EQ(edit_distance("abc", "abc"), 0);
  EXPECT_EQ(edit_distance("sede", "seed"), 1);  // neighbours swapped
  EXPECT_EQ(edit_distance("ca", "abc"), 3);     // optimal string alignment, not full Damerau
  EXPECT_EQ(nearest("x", {}), "");
}

TEST(Nearest, OnlySlips_AreTakenForMeant) {
  EXPECT_EQ(nearest("--sedd", {"--set", "--seed"}), "--seed");
  EXPECT_EQ(nearest("--foo", {"--set", "--seed"}), "");  // three edits, and a third of five letters
  EXPECT_EQ(nearest("nosuch", {"nccl", "reducer"}), "");
  EXPECT_EQ(nearest("checkpointing", {"checkpoint"}), "checkpoint");  // three edits of thirteen letters
  EXPECT_EQ(nearest("checkpointing", {"checkpnt"}), "");              // five
  EXPECT_EQ(nearest_and("seeed", {"seed"}, "--help lists all."), " The nearest is 'seed'; --help lists all.");
  EXPECT_EQ(nearest_and("nosuch", {"seed"}, "there are seed."), " There are seed.");
}

}  // namespace
}  // namespace ttt::harness
