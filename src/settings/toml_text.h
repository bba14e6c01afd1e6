// The one parser of TOML; a private header, since whoever includes it compiles all of toml++.
#pragma once

#include <toml++/toml.h>

#include <string>

namespace ttt::harness {

// `name` stands for the text in messages. Throws UsageError with the line of what is not valid, and where tables, lists
// or dotted keys are nested more than 64 deep.
toml::table parse_toml(const std::string& text, const std::string& name);

}  // namespace ttt::harness
