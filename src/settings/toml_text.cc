#include "settings/toml_text.h"

#include <algorithm>
#include <vector>

#include "core/error.h"
#include "settings/toml_json.h"

namespace ttt::harness {
namespace {

constexpr std::size_t kDeepest = 64;  // tables, lists and parts of a dotted key within one another

// The end of the string that begins at `at`, as TOML's parser sees it; a string that does not end is an error there.
std::size_t end_of_string(const std::string& text, std::size_t at) {
  const char quote = text[at];
  const bool lines = text.compare(at, 3, std::string(3, quote)) == 0;
  for (std::size_t i = at + (lines ? 3 : 1); i < text.size(); ++i) {
    if (text[i] == '\\' && quote == '"') ++i;
    else if (lines ? text.compare(i, 3, std::string(3, quote)) == 0 : text[i] == quote || text[i] == '\n')
      return lines ? std::min(text.find_first_not_of(quote, i), i + 5) - 1 : i;
  }
  return text.size();
}

// The parser and what it builds go through levels by recursion: whether they are too many is seen before. `open` has,
// for each bracket, the levels around it.
bool too_deep(const std::string& text) {
  std::vector<std::size_t> open;
  std::size_t depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"' || c == '\'') i = end_of_string(text, i);
    if (c == '#') i = std::min(text.find('\n', i), text.size()) - 1;
    if (c == '[' || c == '{') open.push_back(depth++);
    if (c == '.') ++depth;
    if (depth > kDeepest) return true;
    if (c == ',') depth = open.empty() ? 0 : open.back() + 1;
    if ((c == ']' || c == '}') && !open.empty()) depth = open.back(), open.pop_back();
    if (c == '\n' && open.empty()) depth = 0;
  }
  return false;
}

result::Json json_of(const toml::node& node, const std::string& name) {
  if (const auto* table = node.as_table()) {
    result::Json object = result::Json::object();
    for (const auto& [key, value] : *table) object[std::string(key.str())] = json_of(value, name);
    return object;
  }
  if (const auto* array = node.as_array()) {
    result::Json list = result::Json::array();
    for (const toml::node& element : *array) list.push_back(json_of(element, name));
    return list;
  }
  if (const auto text = node.value_exact<std::string>()) return *text;
  if (const auto integer = node.value_exact<std::int64_t>()) return *integer;
  if (const auto number = node.value_exact<double>()) return *number;
  if (const auto flag = node.value_exact<bool>()) return *flag;
  throw UsageError(name + ", line " + std::to_string(node.source().begin.line) +
                   ": a date or a time. Write it as a text, in quotes.");
}

}  // namespace

toml::table parse_toml(const std::string& text, const std::string& name) {
  if (too_deep(text))
    throw UsageError(name + ": tables, lists or dotted keys are nested more than 64 deep. Write them flatter.");
  try {
    return toml::parse(std::string_view(text));
  } catch (const toml::parse_error& e) {
    throw UsageError(name + ", line " + std::to_string(e.source().begin.line) +
                     ": not valid TOML: " + std::string(e.description()) + ". Correct this line.");
  }
}

result::Json toml_json(const std::string& text, const std::string& name) {
  return json_of(parse_toml(text, name), name);
}

}  // namespace ttt::harness
