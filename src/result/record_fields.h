// Records of a result declare their fields once, as settings do; writing, reading and the JSON Schema are visitors.
//
//   struct Evaluation {
//     std::int64_t epoch = 0;
//     Metrics metrics;
//     template <class Self, class Visitor> static void fields(Self& e, Visitor&& v) {
//       v("epoch", e.epoch, "epochs finished", at_least(0));
//       v.rest(e.metrics, "what the workload measured");
//     }
//   };
//
// v(key, member, doc, rule) is always written and must be there. Beside it a visitor has
//   v.optional(...)           written where it holds something
//   v.later(...)              always written; results of earlier programs lack it
//   v.older<T>(key, doc, record, take)  a key of earlier programs: take(record, value) where it is there
//   v.either({new}, {old})    one of the two sets of keys is there
//   v.group(key, doc, f), v.optional_group(key, present, doc, f)  f(visitor) declares the members of an object
//   v.constant(key, value, doc)  what a reader may rely on
//   v.derived(key, doc, rule)    a number that only a result has; not read
//   v.described<T>(key, json, doc), v.later_described<T>(...)  held as JSON, declared as T
//   v.columns(key, names, columns, doc)  {"name": [numbers], ...}
//   v.open()                  there may be members that are not declared
//   v.rest(metrics, doc)      all members that are not declared; the last of its record
//
// Types of members: bool, std::int64_t, double, std::string, enumerations with words_of(), and records.
// std::vector, std::optional and std::array hold them. Named and std::map are an object whose keys are data.
// Metrics and Json (an object of any members) are members too.
// Reading checks types, not rules: a report shows what is there. It calls check(record, path) where a record has one.
// All throw DataError that names the key path.
#pragma once

#include <array>
#include <initializer_list>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "result/members.h"
#include "result/metrics.h"
#include "settings/fields.h"

namespace ttt::result {

template <class T> using Named = std::vector<std::pair<std::string, T>>;
// "2026-03-01T12:34:56Z"
inline constexpr const char* kUtcPattern = "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$";
inline constexpr const char* kSha256Pattern = "^[0-9a-f]{64}$";
struct Anything {};  // of a declaration for v.described(): a value of any type

// A bound of the schema beyond the type.
struct Rule {
  Rule(Limits l = {}) : limits(std::move(l)) {}  // NOLINT: limits are a rule
  Limits limits;
  bool above = false;   // limits.lo and limits.hi are excluded
  std::string pattern;  // of a string
};
inline Rule at_least(double lo) { return Limits{.lo = lo}; }
inline Rule above(double lo, double hi = std::numeric_limits<double>::infinity()) {
  Rule rule = Limits{.lo = lo, .hi = hi};
  rule.above = true;
  return rule;
}
inline Rule matching(const char* pattern) {
  Rule rule;
  rule.pattern = pattern;
  return rule;
}
inline Rule not_empty(Rule rule = {}) {
  rule.limits.least = 1;
  return rule;
}

namespace detail {

template <class T> inline constexpr bool is_vector = false;
template <class T> inline constexpr bool is_vector<std::vector<T>> = true;
template <class T> inline constexpr bool is_named = false;
template <class T> inline constexpr bool is_named<Named<T>> = true;
template <class T> inline constexpr bool is_named<std::map<std::string, T>> = true;
template <class T> inline constexpr bool is_optional = false;
template <class T> inline constexpr bool is_optional<std::optional<T>> = true;
template <class T> inline constexpr bool is_array = false;
template <class T, std::size_t n> inline constexpr bool is_array<std::array<T, n>> = true;
template <class T> inline constexpr bool is_list = is_vector<T> && !is_named<T>;
template <class T>
concept Scalar = std::is_arithmetic_v<T> || std::is_same_v<T, std::string>;
template <class T>
concept HasCheck = requires(const T& t, const std::string& path) {
  T::check(t, path);
};

// The words of an enumeration, both ways; words_of(E) lists them.
template <class E> std::string_view word_of(E value) {
  for (const auto& [known, word] : words_of(value))
    if (known == value) return word;
  throw Error("A value without a word. This is a bug.");
}
template <class E> std::optional<E> from_word(std::string_view word) {
  for (const auto& [value, known] : words_of(E{}))
    if (known == word) return value;
  return std::nullopt;
}

// A field that v.optional() leaves out.
template <class T> bool is_absent(const T& value) {
  if constexpr (is_optional<T>) return !value.has_value();
  else if constexpr (std::is_arithmetic_v<T>) return value == T{};
  else return value.empty();
}

template <class T> Json value_json(const T& value);
template <class T> void read_value(const Json& json, T& value, const std::string& path);
template <class T> Json schema_of(const Rule& rule);

}  // namespace detail

class RecordWriter {
 public:
  explicit RecordWriter(Json& to) : to_(to) {}
  template <class T> void operator()(const std::string& key, const T& value, const char*, const Rule& = {}) {
    to_[key] = detail::value_json(value);
  }
  template <class T> void optional(const std::string& key, const T& value, const char* doc, const Rule& = {}) {
    if (!detail::is_absent(value)) (*this)(key, value, doc);
  }
  template <class T> void later(const std::string& key, const T& value, const char* doc, const Rule& = {}) {
    (*this)(key, value, doc);
  }
  template <class T, class Record, class Take> void older(const char*, const char*, const Record&, Take&&) {}
  void either(std::initializer_list<const char*>, std::initializer_list<const char*>) {}
  template <class Fields> void group(const char* key, const char*, Fields&& fields) {
    Json& child = to_[key] = Json::object();
    fields(RecordWriter(child));
  }
  template <class Fields> void optional_group(const char* key, bool present, const char* doc, Fields&& fields) {
    if (present) group(key, doc, fields);
  }
  template <class T> void constant(const char* key, const T& value, const char*) { to_[key] = value; }
  void derived(const char*, const char*, const Rule&) {}
  template <class T> void described(const char* key, const Json& json, const char*) { to_[key] = json; }
  template <class T> void later_described(const char* key, const Json& json, const char*) { to_[key] = json; }
  void columns(const char* key, const std::vector<std::string>& names, const std::vector<std::vector<double>>& columns,
      const char*);
  void rest(const Metrics& metrics, const char*) { to_.update(metrics_json(metrics)); }
  void open() {}

 private:
  Json& to_;
};

class RecordReader {
 public:
  RecordReader(const Json& from, std::string path) : from_(from), path_(std::move(path)) {}
  template <class T> void operator()(const std::string& key, T& value, const char*, const Rule& = {}) {
    seen_.insert(key);
    detail::read_value(member(from_, key, path_), value, join(path_, key));
  }
  template <class T> void optional(const std::string& key, T& value, const char* doc, const Rule& = {}) {
    if (from_.contains(key)) (*this)(key, value, doc);
  }
  template <class T> void later(const std::string& key, T& value, const char* doc, const Rule& = {}) {
    optional(key, value, doc);
  }
  template <class T, class Record, class Take>
  void older(const char* key, const char* doc, Record& record, Take&& take) {
    if (!from_.contains(key)) return;
    T value{};
    (*this)(key, value, doc);
    take(record, value);
  }
  void either(std::initializer_list<const char*> present, std::initializer_list<const char*> older);
  template <class Fields> void group(const char* key, const char*, Fields&& fields) {
    seen_.insert(key);
    fields(RecordReader(get_object(from_, key, path_), join(path_, key)));
  }
  template <class Fields> void optional_group(const char* key, bool, const char* doc, Fields&& fields) {
    if (from_.contains(key)) group(key, doc, fields);
  }
  template <class T> void constant(const char* key, const T&, const char*) { seen_.insert(key); }
  void derived(const char* key, const char*, const Rule&) { seen_.insert(key); }
  template <class T> void described(const char* key, Json& json, const char*) {
    seen_.insert(key);
    json = detail::is_list<T> ? get_array(from_, key, path_) : get_object(from_, key, path_);
  }
  template <class T> void later_described(const char* key, Json& json, const char* doc) {
    if (from_.contains(key)) described<T>(key, json, doc);
  }
  void columns(
      const char* key, std::vector<std::string>& names, std::vector<std::vector<double>>& columns, const char*);
  void rest(Metrics& metrics, const char*) { metrics = metrics_from_json(from_, path_, seen_); }
  void open() {}

 private:
  const Json& from_;
  std::string path_;
  std::set<std::string> seen_;
};

// Makes the JSON Schema (draft-07) of a record: declares on a value that holds nothing.
class SchemaWriter {
 public:
  explicit SchemaWriter(Json& schema);
  template <class T> void operator()(const std::string& key, const T&, const char* doc, const Rule& rule = {}) {
    add(key, detail::schema_of<T>(rule), doc, true);
  }
  template <class T> void optional(const std::string& key, const T&, const char* doc, const Rule& rule = {}) {
    add(key, detail::schema_of<T>(rule), doc, false);
  }
  template <class T> void later(const std::string& key, const T& value, const char* doc, const Rule& rule = {}) {
    optional(key, value, doc, rule);
  }
  template <class T, class Record, class Take> void older(const char* key, const char* doc, const Record&, Take&&) {
    add(key, detail::schema_of<T>({}), doc, false);
  }
  void either(std::initializer_list<const char*> present, std::initializer_list<const char*> older);
  template <class Fields> void group(const char* key, const char* doc, Fields&& fields, bool required = true) {
    Json child;
    fields(SchemaWriter(child));
    add(key, std::move(child), doc, required);
  }
  template <class Fields> void optional_group(const char* key, bool, const char* doc, Fields&& fields) {
    group(key, doc, fields, false);
  }
  template <class T> void constant(const char* key, const T& value, const char* doc) {
    add(key, {{"const", value}}, doc, true);
  }
  void derived(const char* key, const char* doc, const Rule& rule) {
    add(key, detail::schema_of<double>(rule), doc, false);
  }
  template <class T> void described(const char* key, const Json&, const char* doc) {
    add(key, detail::schema_of<T>({}), doc, true);
  }
  template <class T> void later_described(const char* key, const Json&, const char* doc) {
    add(key, detail::schema_of<T>({}), doc, false);
  }
  void columns(
      const char* key, const std::vector<std::string>&, const std::vector<std::vector<double>>&, const char* doc);
  void rest(const Metrics&, const char* doc);
  void open() { schema_["additionalProperties"] = true; }

 private:
  void add(const std::string& key, Json type, const char* doc, bool required);
  Json& schema_;
};

template <class T> Json json_of(const T& record) {
  Json json = Json::object();
  T::fields(record, RecordWriter(json));
  return json;
}

// `path`: where the record lies, for messages; "" is the document.
template <class T> void read_record(const Json& json, T& record, const std::string& path) {
  if (!json.is_object()) throw DataError("'" + path + "' in the result is not an object. Take the original file.");
  T::fields(record, RecordReader(json, path));
  if constexpr (detail::HasCheck<T>) T::check(record, path);
}
template <class T> T record_from_json(const Json& json, const std::string& path) {
  T record{};
  read_record(json, record, path);
  return record;
}

namespace detail {

template <class T> Json value_json(const T& value) {
  if constexpr (FieldGroup<T>) {
    return json_of(value);
  } else if constexpr (std::is_enum_v<T>) {
    return std::string(word_of(value));
  } else if constexpr (std::is_same_v<T, Metrics>) {
    return metrics_json(value);
  } else if constexpr (is_optional<T>) {
    return value_json(*value);
  } else if constexpr (is_named<T>) {
    Json json = Json::object();
    for (const auto& [name, entry] : value) json[name] = value_json(entry);
    return json;
  } else if constexpr (is_vector<T>) {
    if constexpr (Scalar<typename T::value_type>) return value;
    Json json = Json::array();
    for (const auto& entry : value) json.push_back(value_json(entry));
    return json;
  } else {
    return value;
  }
}

template <class T> void read_value(const Json& json, T& value, const std::string& path) {
  const auto refuse = [&](const char* is_not) {
    throw DataError("'" + path + "' in the result is not " + is_not + ". Take the original file.");
  };
  if constexpr (FieldGroup<T>) {
    read_record(json, value, path);
  } else if constexpr (std::is_enum_v<T>) {
    const auto name = checked<std::string>(json, path);
    if (const auto known = from_word<T>(name)) return void(value = *known);
    throw DataError("'" + path + "' in the result is '" + name +
                    "', which this program does not know. Take the "
                    "original file.");
  } else if constexpr (std::is_same_v<T, Metrics>) {
    if (!json.is_object()) refuse("an object");
    value = metrics_from_json(json, path);
  } else if constexpr (is_optional<T>) {
    read_value(json, value.emplace(), path);
  } else if constexpr (is_named<T>) {
    if (!json.is_object()) refuse("an object");
    value.clear();
    for (const auto& [name, entry] : json.items()) {
      std::remove_cvref_t<decltype(value.begin()->second)> read{};
      read_value(entry, read, path + "." + name);
      value.insert(value.end(), {name, std::move(read)});
    }
  } else if constexpr (is_vector<T>) {
    if (!json.is_array()) refuse("a list");
    if constexpr (Scalar<typename T::value_type>) {
      value = list_of<typename T::value_type>(json, path);
    } else {
      value.clear();
      for (const Json& entry : json) {
        const std::string at = path + "[" + std::to_string(value.size()) + "]";
        read_value(entry, value.emplace_back(), at);
      }
    }
  } else if constexpr (is_array<T>) {
    if (!json.is_array() || json.size() != value.size()) refuse(("a list of " + std::to_string(value.size())).c_str());
    for (std::size_t i = 0; i < value.size(); ++i) read_value(json[i], value[i], path);
  } else if constexpr (std::is_same_v<T, Json>) {
    if (!json.is_object()) refuse("an object");
    value = json;
  } else {
    value = checked<T>(json, path);
  }
}

Json scalar_schema(const char* type, const Rule& rule);  // "number", "integer", "boolean", "string"
Json metrics_schema();

template <class T> Json schema_of(const Rule& rule) {
  if constexpr (FieldGroup<T>) {
    Json schema;
    const T nothing{};
    T::fields(nothing, SchemaWriter(schema));
    return schema;
  } else if constexpr (std::is_enum_v<T>) {
    Json names = Json::array();
    for (const auto& [word, name] : words_of(T{})) names.push_back(name);
    return {{"enum", std::move(names)}};
  } else if constexpr (std::is_same_v<T, Metrics>) {
    return metrics_schema();
  } else if constexpr (is_optional<T>) {
    return schema_of<typename T::value_type>(rule);
  } else if constexpr (is_named<T>) {
    Json schema = {{"type", "object"},
        {"additionalProperties", schema_of<std::remove_cvref_t<decltype(T{}.begin()->second)>>(rule.limits)}};
    if (!rule.pattern.empty()) schema["propertyNames"] = {{"pattern", rule.pattern}};
    return schema;
  } else if constexpr (is_vector<T>) {
    Json schema = {{"type", "array"}, {"items", schema_of<typename T::value_type>(rule)}};
    if (rule.limits.least > 0) schema["minItems"] = rule.limits.least;
    return schema;
  } else if constexpr (is_array<T>) {
    return {{"type", "array"}, {"items", schema_of<typename T::value_type>(rule)}, {"minItems", std::tuple_size_v<T>},
        {"maxItems", std::tuple_size_v<T>}};
  } else if constexpr (std::is_same_v<T, Json>) {
    return {{"type", "object"}};
  } else if constexpr (std::is_same_v<T, Anything>) {
    return Json::object();
  } else {
    return scalar_schema(std::is_same_v<T, bool>          ? "boolean"
                         : std::is_same_v<T, std::string> ? "string"
                         : std::is_integral_v<T>          ? "integer"
                                                          : "number",
        rule);
  }
}

}  // namespace detail
}  // namespace ttt::result
