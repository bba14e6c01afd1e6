#include "settings/json.h"

#include <cmath>
#include <set>

#include "core/error.h"
#include "core/text.h"

namespace ttt::result {
namespace {

// Path of the first number that is not finite, or an empty string.
std::string find_non_finite(const Json& value, const std::string& path) {
  if (value.is_number_float() && !std::isfinite(value.get<double>())) return path.empty() ? "(the document)" : path;
  if (value.is_object()) {
    for (const auto& [key, child] : value.items()) {
      const std::string found = find_non_finite(child, path.empty() ? key : path + "." + key);
      if (!found.empty()) return found;
    }
  } else if (value.is_array()) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      const Json& child = value[i];
      if (child.is_number() && !child.is_number_float()) continue;
      if (child.is_number_float() && std::isfinite(child.get<double>())) continue;  // no path is built for most samples
      const std::string found = find_non_finite(child, path + "[" + std::to_string(i) + "]");
      if (!found.empty()) return found;
    }
  }
  return {};
}

std::string scalar(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

bool is_flat(const Json& array) {
  for (const Json& v : array)
    if (v.is_structured()) return false;
  return true;
}

void write(const Json& value, int indent, int depth, std::string& out) {
  const auto new_line = [&](int d) {
    if (indent < 0) return;
    out += '\n';
    out.append(static_cast<std::size_t>(indent * d), ' ');
  };
  if (!value.is_structured() || value.empty()) {
    out += scalar(value);
    return;
  }
  const bool object = value.is_object();
  const bool flat = !object && is_flat(value);
  out += object ? '{' : '[';
  bool first = true;
  for (const auto& [key, child] : value.items()) {
    if (!first) out += flat && indent >= 0 ? ", " : ",";
    first = false;
    if (!flat) new_line(depth + 1);
    if (object) out += scalar(Json(key)) + (indent < 0 ? ":" : ": ");
    write(child, indent, depth + 1, out);
  }
  if (!flat) new_line(depth);
  out += object ? '}' : ']';
}

// "line 3, column 7" of a byte offset.
std::string place(std::string_view text, std::size_t byte) {
  std::size_t line = 1, column = 1;
  for (std::size_t i = 0; i + 1 < byte && i < text.size(); ++i) {
    column = text[i] == '\n' ? 1 : column + 1;
    line += text[i] == '\n';
  }
  return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

// Counts nesting without recursion, so that a hostile file cannot exhaust the stack of what walks the tree later.
bool too_deep(std::string_view text) {
  constexpr int kMaxDepth = 200;
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kMaxDepth) return true;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return false;
}

}  // namespace

std::string dump(const Json& value, int indent) {
  const std::string bad = find_non_finite(value, "");
  if (!bad.empty())
    throw Incorrect("'" + bad + "' is not a finite number, which JSON cannot hold. Leave it out and say why.");
  std::string out;
  write(value, indent, 0, out);
  return out;
}

Json parse(std::string_view text, const std::string& name) {
  if (too_deep(text)) throw DataError(name + " is nested more than 200 levels deep. Name a JSON file of this suite.");
  try {
    std::vector<std::set<std::string>> objects;  // keys so far of each object that is open
    return Json::parse(text, [&](int, Json::parse_event_t event, Json& value) {
      if (event == Json::parse_event_t::object_start) objects.emplace_back();
      if (event == Json::parse_event_t::object_end) objects.pop_back();
      if (event == Json::parse_event_t::key && !objects.back().insert(value.get<std::string>()).second)
        throw DataError(
            name + " has the key '" + value.get<std::string>() + "' twice in one object. Take the original file.");
      return true;
    });
  } catch (const Json::parse_error& e) {
    const bool ended = e.byte >= text.size();
    throw DataError(name + " is not JSON: " + (ended ? "it ends too early" : "it breaks off") + " at " +
                    place(text, e.byte) + ". " +
                    (ended ? "It was truncated: take the original or run again." : "Take the original file."));
  } catch (const Json::exception& e) {  // a number beyond double's range
    throw DataError(name + " is not usable JSON: " + e.what() + ". Take the original file.");
  }
}

const Json& member(const Json& object, const std::string& key, const std::string& path) {
  if (!object.is_object() || !object.contains(key))
    throw DataError("The result has no '" + (path.empty() ? key : path + "." + key) +
                    "'. It was not written by this suite or was edited: take the original.");
  return object.at(key);
}

void refuse_unknown_keys(const Json& given, const Json& known, const std::string& path, const std::string& noun) {
  for (const auto& [key, value] : given.items()) {
    const std::string name = path.empty() ? key : path + "." + key;
    if (!known.contains(key)) throw DataError("'" + name + "' is no key of a " + noun + ". Correct or remove it.");
    if (!value.is_array() || value.empty() || !value[0].is_object()) continue;
    for (std::size_t i = 0; i < value.size(); ++i)
      refuse_unknown_keys(value[i], known[key][i], name + "[" + std::to_string(i) + "]", noun);
  }
}

}  // namespace ttt::result
