// A settings struct (core/fields.h) as a flat list of named values, and back. Everything that parses, prints or
// compares settings works on this list, so those are ordinary functions, compiled once.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "settings/fields.h"

namespace ttt::result {

using FieldValue = std::variant<bool, std::int64_t, double, std::string, std::vector<std::int64_t>, std::vector<double>,
    std::vector<std::string>>;

struct Field {
  std::string key;  // dotted path, "solver.lr"
  std::string doc;
  Limits limits;
  FieldValue value;
};

struct FieldGroupDoc {
  std::string key;  // "" for the root, else "solver"
  std::string doc;
};

struct FieldTable {
  std::vector<Field> fields;          // in the order of declaration
  std::vector<FieldGroupDoc> groups;  // every group, parents before children

  const Field* find(const std::string& key) const {
    for (const Field& f : fields)
      if (f.key == key) return &f;
    return nullptr;
  }
  Field* find(const std::string& key) { return const_cast<Field*>(static_cast<const FieldTable*>(this)->find(key)); }
};

namespace detail {

inline std::string join_key(const std::string& group, const char* key) {
  return group.empty() ? std::string(key) : group + "." + key;
}

template <class T>
concept FieldType = std::is_same_v<T, bool> || std::is_same_v<T, std::int64_t> || std::is_same_v<T, double> ||
    std::is_same_v<T, std::string> || std::is_same_v<T, std::vector<std::int64_t>> ||
    std::is_same_v<T, std::vector<double>> || std::is_same_v<T, std::vector<std::string>>;

template <class T>
concept NumberType = std::is_same_v<T, std::int64_t> || std::is_same_v<T, double> ||
    std::is_same_v<T, std::vector<std::int64_t>> || std::is_same_v<T, std::vector<double>>;

struct Lister {
  FieldTable& table;
  std::string group;

  template <class T> void operator()(const char* key, const T& value, const char* doc) {
    static_assert(!NumberType<T>, "a number needs limits: between(lo, hi)");
    (*this)(key, value, doc, {});
  }
  template <class T> void operator()(const char* key, const T& value, const char* doc, Limits limits) {
    const std::string path = join_key(group, key);
    if constexpr (FieldGroup<T>) {
      table.groups.push_back({path, doc});
      T::fields(value, Lister{table, path});
    } else {
      static_assert(FieldType<T>, "a field is bool, std::int64_t, double, std::string or a vector of the last three");
      table.fields.push_back({path, doc, std::move(limits), value});
    }
  }
};

struct Storer {
  const std::vector<Field>& fields;
  std::size_t& next;

  template <class T> void operator()(const char*, T& value, const char*, Limits = {}) {
    if constexpr (FieldGroup<T>) {
      T::fields(value, Storer{fields, next});
    } else {
      value = std::get<T>(fields.at(next++).value);
    }
  }
};

}  // namespace detail

// The fields of `settings` with their present values.
template <FieldGroup S> FieldTable field_table(const S& settings) {
  FieldTable table;
  S::fields(settings, detail::Lister{table, ""});
  return table;
}

// Writes the values of `table`, which came from field_table() of the same type, into `settings`.
template <FieldGroup S> void assign(const FieldTable& table, S& settings) {
  std::size_t next = 0;
  S::fields(settings, detail::Storer{table.fields, next});
}

// "" where `value` satisfies `limits`, else the fault: "must be in [0, 1]". Numbers must be finite.
std::string check_limits(const FieldValue& value, const Limits& limits);

// "boolean", "integer", "number", "string", "list of integers", "list of numbers", "list of strings".
std::string type_name(const FieldValue& value);

// "in [0, 1]", "in [1, 256], 4 of them", "one of 'step', 'cosine'", or "".
std::string describe_limits(const FieldValue& value, const Limits& limits);

// Shortest decimal text that reads back to the same double, always with a point or an exponent: "0.1", "1.0", "1e-06".
std::string number_text(double value);

}  // namespace ttt::result
