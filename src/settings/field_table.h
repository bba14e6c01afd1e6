// A settings struct (core/fields.h) as a flat list of named values, and back. Everything that parses, prints or
// compares settings works on this list, so those are ordinary functions, compiled once.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "core/error.h"
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

// A group whose type only its owner knows: a recipe holds a model's settings without naming the model. Copies are deep.
class AnyGroup {
 public:
  AnyGroup() = default;                       // no fields
  template <FieldGroup T> AnyGroup(T value);  // NOLINT: a group of any type is one
  AnyGroup(const AnyGroup& other) : held_(other.held_ ? other.held_->copy() : nullptr) {}
  AnyGroup(AnyGroup&&) = default;
  AnyGroup& operator=(AnyGroup other) {
    held_ = std::move(other.held_);
    return *this;
  }

  // Throws NotSupported where a group of another type is held.
  template <class T> T& as() { return const_cast<T&>(std::as_const(*this).as<T>()); }
  template <class T> const T& as() const {
    if (const auto* held = dynamic_cast<const Held<T>*>(held_.get())) return held->value;
    throw NotSupported("This needs the settings of another workload. Leave it out here.");
  }
  // As detail::Lister and detail::Storer do with the fields of a group of known type.
  void list(FieldTable& table, const std::string& group) const {
    if (held_) held_->list(table, group);
  }
  void store(const std::vector<Field>& fields, std::size_t& next) {
    if (held_) held_->store(fields, next);
  }

 private:
  struct Base {
    virtual ~Base() = default;
    virtual std::unique_ptr<Base> copy() const = 0;
    virtual void list(FieldTable& table, const std::string& group) const = 0;
    virtual void store(const std::vector<Field>& fields, std::size_t& next) = 0;
  };
  template <class T> struct Held;
  std::unique_ptr<Base> held_;
};

namespace detail {

// A group without a key of its own has its fields among those of the group around it.
inline std::string join_key(const std::string& group, const char* key) {
  return group.empty() || !*key ? group + key : group + "." + key;
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
    if constexpr (FieldGroup<T> || std::is_same_v<T, AnyGroup>) {
      if (*key) table.groups.push_back({path, doc});
      if constexpr (FieldGroup<T>) T::fields(value, Lister{table, path});
      else value.list(table, path);
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
    } else if constexpr (std::is_same_v<T, AnyGroup>) {
      value.store(fields, next);
    } else {
      value = std::get<T>(fields.at(next++).value);
    }
  }
};

}  // namespace detail

template <class T> struct AnyGroup::Held final : Base {
  explicit Held(T v) : value(std::move(v)) {}
  std::unique_ptr<Base> copy() const override { return std::make_unique<Held>(value); }
  void list(FieldTable& table, const std::string& group) const override {
    T::fields(value, detail::Lister{table, group});
  }
  void store(const std::vector<Field>& fields, std::size_t& next) override {
    T::fields(value, detail::Storer{fields, next});
  }
  T value;
};
template <FieldGroup T> AnyGroup::AnyGroup(T value) : held_(std::make_unique<Held<T>>(std::move(value))) {}

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
