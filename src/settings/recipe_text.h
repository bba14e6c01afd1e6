// Settings as text for people: TOML with the documentation as comments.
#pragma once

#include <string>

#include "settings/field_table.h"

namespace ttt::harness {

// A TOML file that settings_reader.h reads back to the same values, bit for bit.
std::string recipe_toml(const result::FieldTable& table);

// One value as TOML writes it.
std::string toml_value(const result::FieldValue& value);

}  // namespace ttt::harness
