// Mutated recipes: whatever the bytes, the reader sets the fields, or throws UsageError and leaves them alone. What it
// accepts is printed and read back to the same values. Sanitizer builds run it too. `settings_fuzz_test SEED ROUNDS`
// searches longer; an input that found something goes into corpus/.
#include <gtest/gtest.h>

#include <filesystem>

#include "core/error.h"
#include "core/rng.h"
#include "settings/fields_json.h"
#include "settings/recipe_text.h"
#include "settings/settings_reader.h"
#include "tests/support/python.h"
#include "tests/support/toy_settings.h"

namespace ttt::harness {
namespace {

using result::FieldTable;

FieldTable toy_table() {
  const test::ToyRecipe recipe;
  return result::field_table(recipe);
}

std::string json_of(const FieldTable& table) { return result::dump(result::fields_json(table), -1); }

// What must hold for any bytes. Returns whether they were accepted.
bool check(const std::string& text) {
  static const std::string untouched = json_of(toy_table());
  FieldTable table = toy_table();
  try {
    read_settings_text(table, text, "fuzz");
  } catch (const UsageError&) {
    EXPECT_EQ(json_of(table), untouched);
    return false;
  }
  for (const auto& field : table.fields) EXPECT_EQ(result::check_limits(field.value, field.limits), "") << field.key;
  FieldTable again = toy_table();
  read_settings_text(again, recipe_toml(table), "printed");
  EXPECT_EQ(json_of(again), json_of(table));
  return true;
}

const std::vector<std::string>& fragments() {
  static const std::vector<std::string> list = {"seed", "solver", ".", "=", "[", "]", "[[", "]]", "{", "}", "\"", "'",
      "\"\"\"", "'''", "\n", "\r\n", "#", ",", "lr", "decay", "epochs", "factor = ", "title = ", "mean = [", "0x",
      "0b1", "1e999", "-", "+", "_", "nan", "inf", "-inf", "true", "false", "1979-05-27T07:32:00Z",
      "9223372036854775807", "-9223372036854775808", "9223372036854775808", "0.1", "1e-400", "\\u0000", "\\uD800",
      "\\U0010FFFF", "\\x", "\xff", "\xc0\x80", "\xef\xbb\xbf", std::string(1, '\0'), "\x7f", "[solver]",
      "[solver.decay]", "solver.lr = 1\n", "empty = []\n", "{ lr = 1 }", "\t", " "};
  return list;
}

std::string mutate(std::string text, Stream& random) {
  const std::uint64_t edits = 1 + random.below(6);
  for (std::uint64_t i = 0; i < edits; ++i) {
    const std::size_t at = random.below(text.size() + 1);
    switch (random.below(6)) {
      case 0: text.insert(at, fragments()[random.below(fragments().size())]); break;
      case 1: text.erase(at, random.below(12)); break;
      case 2:
        if (at < text.size()) text[at] = static_cast<char>(random.below(256));
        break;
      case 3: text.insert(at, text.substr(random.below(text.size() + 1), random.below(40))); break;
      case 4:
        if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1u << random.below(8)));
        break;
      default: text.insert(at, std::string(random.below(300), "[{\"x."[random.below(5)])); break;
    }
  }
  return text;
}

std::uint64_t g_seed = 1, g_rounds = 20000;  // set by main from the arguments, once

TEST(SettingsFuzz, MutatedRecipesAreReadOrRefused) {
  const std::string start = recipe_toml(toy_table());
  const std::vector<std::string> seeds = {start, "",
      "solver = { lr = 0.5, decay = { epochs = [1, 2], factor = 0.5 } }\n",
      "solver.decay.epochs = [\n1, # one\n2,\n]\ntitle = '''\na\n'''\n"};
  std::uint64_t accepted = 0;
  for (std::uint64_t round = 0; round < g_rounds; ++round) {
    Stream random(random_bits(g_seed, Purpose::kTest, round));
    const std::string text = mutate(seeds[random.below(seeds.size())], random);
    SCOPED_TRACE("round " + std::to_string(round));
    ASSERT_NO_THROW(accepted += check(text));
    if (HasFailure()) FAIL() << text;
  }
  // The mutations must reach both outcomes, or they test nothing.
  EXPECT_GT(accepted, g_rounds / 20);
  EXPECT_LT(accepted, g_rounds - g_rounds / 20);
}

TEST(SettingsFuzz, OverridesAreReadOrRefused) {
  const std::vector<std::string> keys = {
      "seed", "solver.lr", "title", "mean", "solver.decay.epochs", "amp", "solver.schedule", "solver", "x"};
  for (std::uint64_t round = 0; round < g_rounds; ++round) {
    Stream random(random_bits(g_seed + 1, Purpose::kTest, round));
    const std::string value = mutate("1", random);
    FieldTable table = toy_table();
    try {
      apply_overrides(table, {{keys[random.below(keys.size())], value, "--set"}});
    } catch (const UsageError&) { continue; }
    FieldTable again = toy_table();
    ASSERT_NO_THROW(read_settings_text(again, recipe_toml(table), "printed")) << value;
    ASSERT_EQ(json_of(again), json_of(table)) << value;
  }
}

TEST(SettingsFuzz, Corpus) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(TTT_SOURCE_DIR "/tests/settings/corpus")) {
    SCOPED_TRACE(entry.path().string());
    ASSERT_NO_THROW(check(test::read_text(entry.path())));
    ++files;
  }
  EXPECT_GT(files, 0);
}

}  // namespace
}  // namespace ttt::harness

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc > 1) ttt::harness::g_seed = std::stoull(argv[1]);
  if (argc > 2) ttt::harness::g_rounds = std::stoull(argv[2]);
  return RUN_ALL_TESTS();
}
