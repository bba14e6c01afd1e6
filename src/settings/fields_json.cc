#include "settings/fields_json.h"

#include "core/text.h"

namespace ttt::result {
namespace {

Json value_json(const FieldValue& value) {
  return std::visit([](const auto& v) { return Json(v); }, value);
}

}  // namespace

Json fields_json(const FieldTable& table) {
  Json root = Json::object();
  for (const Field& field : table.fields) {
    Json* at = &root;
    std::size_t begin = 0;
    for (std::size_t dot; (dot = field.key.find('.', begin)) != std::string::npos; begin = dot + 1)
      at = &(*at)[field.key.substr(begin, dot - begin)];
    (*at)[field.key.substr(begin)] = value_json(field.value);
  }
  return root;
}

Json fields_changed(const FieldTable& defaults, const FieldTable& table) {
  Json changes = Json::array();
  for (const Field& field : table.fields) {
    const Field* before = defaults.find(field.key);
    if (before && before->value == field.value) continue;
    Json change = {{"key", field.key}};
    if (before) change["default"] = value_json(before->value);
    change["value"] = value_json(field.value);
    changes.push_back(std::move(change));
  }
  return changes;
}

std::string fields_sha256(const FieldTable& table) { return sha256_hex(dump(fields_json(table), -1)); }

static void flatten(const Json& nested, const std::string& prefix, std::map<std::string, Json>& out) {
  for (const auto& [key, value] : nested.items()) {
    if (value.is_object()) flatten(value, prefix + key + ".", out);
    else out[prefix + key] = value;
  }
}

std::map<std::string, Json> flat_settings(const Json& nested) {
  std::map<std::string, Json> out;
  flatten(nested, "", out);
  return out;
}

}  // namespace ttt::result
