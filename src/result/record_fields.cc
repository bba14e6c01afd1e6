#include "result/record_fields.h"

#include <algorithm>
#include <cmath>

namespace ttt::result {
namespace {

Json keys_json(std::initializer_list<const char*> keys) {
  Json list = Json::array();
  for (const char* key : keys) list.push_back(key);
  return list;
}

}  // namespace

void RecordWriter::columns(const char* key, const std::vector<std::string>& names,
    const std::vector<std::vector<double>>& columns, const char*) {
  Json& object = to_[key] = Json::object();
  for (std::size_t i = 0; i < names.size(); ++i) object[names[i]] = columns[i];
}

void RecordReader::columns(
    const char* key, std::vector<std::string>& names, std::vector<std::vector<double>>& columns, const char* doc) {
  Named<std::vector<double>> named;
  (*this)(key, named, doc);
  names.clear(), columns.clear();
  for (auto& [name, column] : named) names.push_back(name), columns.push_back(std::move(column));
}

void RecordReader::either(std::initializer_list<const char*> present, std::initializer_list<const char*> older) {
  const auto has = [this](const char* key) { return from_.contains(key); };
  if (std::all_of(older.begin(), older.end(), has)) return;
  for (const char* key : present) member(from_, key, path_);  // throws where it is not there
}

SchemaWriter::SchemaWriter(Json& schema) : schema_(schema) {
  schema_ = {
      {"type", "object"}, {"required", Json::array()}, {"additionalProperties", false}, {"properties", Json::object()}};
}

void SchemaWriter::add(const std::string& key, Json type, const char* doc, bool required) {
  if (*doc) type["description"] = doc;
  schema_["properties"][key] = std::move(type);
  if (required) schema_["required"].push_back(key);
}

void SchemaWriter::either(std::initializer_list<const char*> present, std::initializer_list<const char*> older) {
  schema_["oneOf"] = {{{"required", keys_json(present)}}, {{"required", keys_json(older)}}};
}

void SchemaWriter::columns(
    const char* key, const std::vector<std::string>&, const std::vector<std::vector<double>>&, const char* doc) {
  add(key, detail::schema_of<Named<std::vector<double>>>({}), doc, true);
}

void SchemaWriter::rest(const Metrics&, const char* doc) {
  schema_["additionalProperties"] = detail::metrics_schema()["additionalProperties"];
  schema_["additionalProperties"]["description"] = doc;
}

namespace detail {

Json scalar_schema(const char* type, const Rule& rule) {
  if (!rule.limits.choices.empty()) return {{"enum", rule.limits.choices}};
  Json schema = {{"type", type}};
  const auto bound = [&](const char* name, double value) {  // of numbers; whole numbers without a point
    if (std::isfinite(value)) schema[name] = value == std::rint(value) ? Json(std::llrint(value)) : Json(value);
  };
  bound(rule.above ? "exclusiveMinimum" : "minimum", rule.limits.lo);
  bound(rule.above ? "exclusiveMaximum" : "maximum", rule.limits.hi);
  if (*type == 's' && !rule.pattern.empty()) schema["pattern"] = rule.pattern;
  return schema;
}

// {"bbox": {"AP": 0.4}} or {"bbox_ap": 0.4}
Json metrics_schema() {
  const Json number = {{"type", "number"}};
  return {{"type", "object"},
      {"additionalProperties",
          {{"anyOf", {number, {{"type", "object"}, {"minProperties", 1}, {"additionalProperties", number}}}}}}};
}

}  // namespace detail
}  // namespace ttt::result
