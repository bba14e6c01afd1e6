// TOML that is not a recipe, as JSON.
#pragma once

#include <string>

#include "settings/json.h"

namespace ttt::harness {

// `name` stands for the text in messages; the keys of a table come in alphabetical order. Throws UsageError with the
// line of what is not valid TOML, or is a date or a time.
result::Json toml_json(const std::string& text, const std::string& name);

}  // namespace ttt::harness
