#include "settings/recipe_text.h"

#include <cstdio>

namespace ttt::harness {
namespace {

using result::Field;
using result::FieldTable;

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04X", static_cast<unsigned>(static_cast<unsigned char>(c)));
      out += escape;
    } else {
      out += c;
    }
  }
  return out += '"';
}

template <class T, class Text> std::string list_text(const std::vector<T>& list, Text text) {
  std::string out = "[";
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (i) out += ", ";
    out += text(list[i]);
  }
  return out += ']';
}

struct ToToml {
  std::string operator()(bool v) const { return v ? "true" : "false"; }
  std::string operator()(std::int64_t v) const { return std::to_string(v); }
  std::string operator()(double v) const { return result::number_text(v); }
  std::string operator()(const std::string& v) const { return quoted(v); }
  template <class T> std::string operator()(const std::vector<T>& v) const {
    return list_text(v, [](const T& x) { return ToToml{}(x); });
  }
};

// Every line of a comment needs its own sign.
std::string comment(const std::string& doc) {
  std::string out = "# ";
  for (const char c : doc) {
    out += c;
    if (c == '\n') out += "# ";
  }
  return out + "\n";
}

std::string group_of(const std::string& key) {
  const std::size_t dot = key.rfind('.');
  return dot == std::string::npos ? "" : key.substr(0, dot);
}

std::string full_doc(const Field& field) {
  const std::string limits = result::describe_limits(field.value, field.limits);
  return limits.empty() ? field.doc : field.doc + " (" + limits + ")";
}

// The settings that belong to `group` itself, not to a group within it.
void write_group(const FieldTable& table, const std::string& group, std::string& out) {
  const std::size_t skip = group.empty() ? 0 : group.size() + 1;
  for (const Field& field : table.fields) {
    if (group_of(field.key) != group) continue;
    out += comment(full_doc(field));
    out.append(field.key, skip).append(" = ").append(toml_value(field.value)).append("\n");
  }
}

}  // namespace

std::string toml_value(const result::FieldValue& value) { return std::visit(ToToml{}, value); }

std::string recipe_toml(const FieldTable& table) {
  std::string out;
  write_group(table, "", out);
  for (const auto& group : table.groups) {
    if (!out.empty()) out += '\n';
    out += comment(group.doc);
    out.append("[").append(group.key).append("]\n");
    write_group(table, group.key, out);
  }
  return out;
}

}  // namespace ttt::harness
