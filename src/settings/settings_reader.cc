#include "settings/settings_reader.h"

#include <toml++/toml.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <sstream>

#include "core/error.h"
#include "core/nearest.h"
#include "core/whole_file.h"
#include "settings/json.h"
#include "settings/toml_text.h"

namespace ttt::harness {
namespace {

using result::Field;
using result::FieldTable;
using result::FieldValue;

constexpr std::size_t kMostBytes = 1 << 20;  // of a file of settings

// Faults in the entries of a file. Only the first in the file gets its message, which compares names and takes time.
struct Problems {
  std::size_t count = 0;
  toml::source_position first;
  std::function<std::string()> message;

  void add(const toml::source_position& at, std::function<std::string()> text) {
    if (count++ > 0 && !(at < first)) return;
    first = at, message = std::move(text);
  }
};

// "a string", "an integer": what a TOML node is, in the words of result::type_name.
std::string found_type(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table: return "a table";
    case toml::node_type::array: return "a list";
    case toml::node_type::string: return "a string";
    case toml::node_type::integer: return "an integer";
    case toml::node_type::floating_point: return "a number with a fraction";
    case toml::node_type::boolean: return "a boolean";
    case toml::node_type::date: return "a date";
    case toml::node_type::time: return "a time";
    case toml::node_type::date_time: return "a date and time";
    default: return "nothing";
  }
}

std::optional<double> number(const toml::node& node) {
  if (const auto* v = node.as_floating_point()) return v->get();
  if (const auto* v = node.as_integer()) return static_cast<double>(v->get());
  return std::nullopt;
}

std::optional<std::int64_t> integer(const toml::node& node) {
  if (const auto* v = node.as_integer()) return v->get();
  return std::nullopt;
}

std::optional<std::string> text(const toml::node& node) {
  if (const auto* v = node.as_string()) return v->get();
  return std::nullopt;
}

template <class T, class Read> std::optional<FieldValue> list(const toml::node& node, Read read) {
  const toml::array* array = node.as_array();
  if (!array) return std::nullopt;
  std::vector<T> values;
  for (const toml::node& element : *array) {
    const auto value = read(element);
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  return FieldValue(std::move(values));
}

// The node as a value of the alternative that `like` holds; nothing where the types differ.
std::optional<FieldValue> convert(const toml::node& node, const FieldValue& like) {
  switch (like.index()) {
    case 0:
      if (const auto* v = node.as_boolean()) return FieldValue(v->get());
      return std::nullopt;
    case 1:
      if (const auto v = integer(node)) return FieldValue(*v);
      return std::nullopt;
    case 2:
      if (const auto v = number(node)) return FieldValue(*v);
      return std::nullopt;
    case 3:
      if (const auto* v = node.as_string()) return FieldValue(v->get());
      return std::nullopt;
    case 4: return list<std::int64_t>(node, integer);
    case 5: return list<double>(node, number);
    default: return list<std::string>(node, text);
  }
}

std::string with_article(const std::string& noun) {
  const bool vowel = std::string("aeiou").find(noun[0]) != std::string::npos;
  return std::string(vowel ? "an " : "a ").append(noun);
}

std::string type_problem(const Field& field, const toml::node& node) {
  std::string found = found_type(node);
  if (const toml::array* array = node.as_array()) {
    const bool numbers = field.value.index() == 5, texts = field.value.index() == 6;
    for (const toml::node& element : *array)
      if (texts ? !text(element) : numbers ? !number(element) : !integer(element)) {
        found = "a list with " + found_type(element);
        break;
      }
  }
  return "'" + field.key + "' expects " + with_article(result::type_name(field.value)) + ", found " + found + ".";
}

std::string unknown_key(const FieldTable& table, const std::string& key) {
  if (key.size() > 100) return "Unknown key '" + key.substr(0, 100) + "...'. --print-recipe lists all.";
  std::vector<std::string> keys;
  for (const Field& field : table.fields) keys.push_back(field.key);
  for (const auto& group : table.groups) keys.push_back(group.key);
  return "Unknown key '" + key + "'." + nearest_and(key, keys, "--print-recipe lists all.");
}

bool is_group(const FieldTable& table, const std::string& key) {
  for (const auto& group : table.groups)
    if (group.key == key) return true;
  return false;
}

// Stores the node in the field or says why not ("" when all is well).
std::string store(Field& field, const toml::node& node) {
  std::optional<FieldValue> value = convert(node, field.value);
  if (!value) return type_problem(field, node);
  const std::string wrong = result::check_limits(*value, field.limits);
  if (!wrong.empty()) {
    std::ostringstream given;
    if (node.is_value()) given << toml::node_view<const toml::node>(node);
    return "'" + field.key + "' " + wrong + (given.str().empty() ? "." : ", found " + given.str() + ".");
  }
  field.value = std::move(*value);
  return {};
}

void read_table(FieldTable& table, const toml::table& toml, const std::string& prefix, Problems& problems) {
  for (const auto& [name, node] : toml) {
    const std::string key = prefix.empty() ? std::string(name.str()) : prefix + "." + std::string(name.str());
    const toml::source_position& at = name.source().begin;
    const toml::table* inner = node.as_table();
    if (is_group(table, key)) {
      if (inner) read_table(table, *inner, key, problems);
      else
        problems.add(at, [key, found = found_type(node)] {
          return "'" + key + "' is a group of settings, found " + found + ". Write [" + key +
                 "] and its settings below.";
        });
    } else if (Field* field = table.find(key)) {
      if (const std::string wrong = store(*field, node); !wrong.empty()) problems.add(at, [wrong] { return wrong; });
    } else {
      problems.add(at, [&table, key] { return unknown_key(table, key); });
    }
  }
}

// a,b as "a","b": the brackets and quotes of a list of strings may be left out.
std::string quoted_elements(const std::string& text) {
  if (text.empty() || text.find_first_of("\"'") != std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == ',' ? std::string("\",\"") : std::string(1, c);
  return out + "\"";
}

// The value of an override as a TOML node in a table with the one key "v".
toml::table parse_value(const Override& o, const Field& field) {
  toml::table table;
  const bool quoted = !o.value.empty() && (o.value.front() == '"' || o.value.front() == '\'');
  if (std::holds_alternative<std::string>(field.value) && !quoted) {
    table.insert("v", o.value);
    return table;
  }
  std::string text = o.value;
  const bool is_list = field.value.index() >= 4;
  if (is_list && (text.empty() || text.front() != '['))
    text = std::string("[")
               .append(std::holds_alternative<std::vector<std::string>>(field.value) ? quoted_elements(text) : text)
               .append("]");
  const std::string expects = "'" + o.key + "' expects " + with_article(result::type_name(field.value));
  try {
    table = parse_toml("v = " + text, "");
  } catch (const UsageError&) { throw UsageError(o.origin + ": " + expects + ", found '" + o.value + "'."); }
  if (table.size() != 1 || !table.contains("v"))
    throw UsageError(o.origin + ": " + expects + ", found '" + o.value + "'.");
  return table;
}

// Well-formed UTF-8 (Unicode 15, table 3-7: no overlong forms, no surrogates, nothing above U+10FFFF).
bool is_utf8(const std::string& text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto at = [&](std::size_t k) { return i + k < text.size() ? static_cast<unsigned char>(text[i + k]) : 0u; };
    const unsigned lead = at(0), second = at(1);
    const std::size_t size = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    if ((lead >= 0x80 && lead < 0xC2) || lead > 0xF4) return false;
    if (size > 1) {
      const unsigned lo = lead == 0xE0   ? 0xA0
                          : lead == 0xF0 ? 0x90
                                         : 0x80,
                     hi = lead == 0xED   ? 0x9F
                          : lead == 0xF4 ? 0x8F
                                         : 0xBF;
      if (second < lo || second > hi) return false;
    }
    for (std::size_t k = 2; k < size; ++k)
      if ((at(k) & 0xC0) != 0x80) return false;
    i += size;
  }
  return true;
}

// A setting of `table` as --set takes it. The first number is shown, with its present value.
std::string example(const result::FieldTable& table) {
  for (const Field& f : table.fields)
    if (const auto* number = std::get_if<std::int64_t>(&f.value)) return f.key + "=" + std::to_string(*number);
  return table.fields.empty() ? "key=value" : table.fields.front().key + "=...";
}

}  // namespace

Override parse_override(const result::FieldTable& table, const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    throw UsageError("--set " + text + ": expected key=value. Write for example --set " + example(table) + ".");
  return {text.substr(0, equals), text.substr(equals + 1), "--set " + text};
}

void read_settings_text(FieldTable& table, const std::string& text, const std::string& name) {
  const toml::table toml = parse_toml(text, name);
  Problems problems;
  FieldTable next = table;
  read_table(next, toml, "", problems);
  if (problems.count == 0) {
    table = std::move(next);
    return;
  }
  std::string message = name + ", line " + std::to_string(problems.first.line) + ": " + problems.message();
  if (problems.count > 1) message += " (" + std::to_string(problems.count - 1) + " more in this file.)";
  throw UsageError(message);
}

void read_settings_file(FieldTable& table, const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error))
    throw UsageError("Cannot read the recipe '" + file.string() + "'. Name an existing TOML file with --recipe.");
  if (const auto bytes = std::filesystem::file_size(file); bytes > kMostBytes)
    throw UsageError("The recipe '" + file.string() + "' has " + std::to_string(bytes) +
                     " bytes, and the limit is 1 MB. Name a TOML file of settings.");
  read_settings_text(table, read_whole_file(file.string()), file.string());
}

namespace {

// A line of TOML for each member: JSON's numbers and lists are TOML's, and its strings but for the delete character.
void add_lines(const result::Json& group, const std::string& path, std::string& text) {
  for (const auto& [key, value] : group.items()) {
    if (value.is_object()) {
      add_lines(value, path + key + ".", text);
      continue;
    }
    text += path + key + " = ";
    for (const char c : value.dump()) text += c == '\x7f' ? "\\u007F" : std::string(1, c);
    text += "\n";
  }
}

void read_settings_of_result(FieldTable& table, const std::string& file) {
  const result::Json document = result::parse(read_whole_file(file), "'" + file + "'");
  const result::Json* settings = &document;
  for (const char* key : {"recipe", "settings"}) {
    if (!settings->is_object() || !settings->contains(key))
      throw UsageError("'" + file + "' is no result with the settings of a run. Name a result, or a TOML file.");
    settings = &settings->at(key);
  }
  std::string text;
  add_lines(*settings, "", text);
  read_settings_text(table, text, "the settings of result '" + file + "'");
}

}  // namespace

void read_recipe_named(FieldTable& table, const std::map<std::string, std::string>& recipes, const std::string& name) {
  if (const auto built_in = recipes.find(name.empty() ? "default" : name); built_in != recipes.end())
    return read_settings_text(table, built_in->second, "recipe " + built_in->first);
  if (name.empty()) return;
  if (std::filesystem::is_regular_file(name))
    return name.ends_with(".json") ? read_settings_of_result(table, name) : read_settings_file(table, name);
  std::vector<std::string> known;
  std::string there_are = "there are:";
  for (const auto& [recipe, text] : recipes) known.push_back(recipe), there_are += " " + recipe;
  if (name.find_first_of("./") != std::string::npos || known.empty())
    throw UsageError("There is no such file '" + name + "'. Name a TOML file; --print-recipe writes one.");
  throw UsageError(
      "There is no recipe '" + name + "', neither a file nor a name." + nearest_and(name, known, there_are + "."));
}

void apply_overrides(FieldTable& table, const std::vector<Override>& overrides) {
  std::set<std::string> seen;
  FieldTable next = table;
  for (const Override& o : overrides) {
    Field* field = next.find(o.key);
    if (!field)
      throw UsageError(
          o.origin + ": " +
          (is_group(table, o.key)
                  ? "'" + o.key + "' is a group of settings. Name one of its settings, as --print-recipe lists them."
                  : unknown_key(table, o.key)));
    if (!seen.insert(o.key).second)
      throw UsageError(o.origin + ": '" + o.key + "' is given twice on the command line. Give it once.");
    if (!is_utf8(o.value))
      throw UsageError(o.origin + ": the value is not UTF-8 text. Settings are written to JSON, which is.");
    const std::string wrong = store(*field, *parse_value(o, *field).get("v"));
    if (!wrong.empty()) throw UsageError(o.origin + ": " + wrong);
  }
  table = std::move(next);
}

}  // namespace ttt::harness
