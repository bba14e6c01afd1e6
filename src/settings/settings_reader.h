// Settings from TOML files and from `--set key=value`. Nothing is guessed and nothing ignored. An unknown key, a wrong
// type, a value out of its limits and a key given twice are UsageErrors that name the key, where it stands and the
// remedy. An integer is good for a number, never the other way round.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "settings/field_table.h"

namespace ttt::harness {

// One setting from the command line. `origin` is how it was written, for messages: "--set seed=2".
struct Override {
  std::string key;
  std::string value;
  std::string origin;
};

// Splits "key=value"; throws UsageError without '='.
Override parse_override(const result::FieldTable& table, const std::string& text);

// Sets the fields that `text` names; the others keep their values. `name` stands for the file in messages.
void read_settings_text(result::FieldTable& table, const std::string& text, const std::string& name);
// The same from a file; throws UsageError where it cannot be read.
void read_settings_file(result::FieldTable& table, const std::filesystem::path& file);

// The recipe `name`: one of `recipes` (TOML texts by name), a TOML file, or a result (*.json), whose run is repeated;
// "": the one named "default", where there is one. Throws UsageError naming the nearest where there is neither.
void read_recipe_named(
    result::FieldTable& table, const std::map<std::string, std::string>& recipes, const std::string& name);

// Values as in TOML; for strings the quotes, for lists the brackets may be left out (`--set model.strides=4,8`).
void apply_overrides(result::FieldTable& table, const std::vector<Override>& overrides);

template <FieldGroup S> void read_settings_file(S& settings, const std::filesystem::path& file) {
  result::FieldTable table = result::field_table(settings);
  read_settings_file(table, file);
  result::assign(table, settings);
}

template <FieldGroup S> void apply_overrides(S& settings, const std::vector<Override>& overrides) {
  result::FieldTable table = result::field_table(settings);
  apply_overrides(table, overrides);
  result::assign(table, settings);
}

}  // namespace ttt::harness
