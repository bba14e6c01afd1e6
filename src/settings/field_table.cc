#include "settings/field_table.h"

#include <charconv>
#include <cmath>
#include <cstdlib>

namespace ttt::result {
namespace {

// Limits are doubles: print 4 for 4.0.
std::string limit_text(double value) {
  std::string text = number_text(value);
  if (text.size() > 2 && text.ends_with(".0")) text.resize(text.size() - 2);
  return text;
}

std::string check_number(double value, const Limits& limits) {
  if (!std::isfinite(value)) return "must be finite";
  if (value >= limits.lo && value <= limits.hi) return {};
  return "must be " + describe_limits(limits);
}

struct WithinLimits {
  const Limits& limits;

  std::string operator()(bool) const { return {}; }
  std::string operator()(std::int64_t v) const { return check_number(static_cast<double>(v), limits); }
  std::string operator()(double v) const { return check_number(v, limits); }
  std::string operator()(const std::string& v) const {
    if (limits.choices.empty()) return {};
    for (const std::string& choice : limits.choices)
      if (v == choice) return {};
    return "must be " + describe_limits(limits);
  }
  std::string operator()(const std::vector<std::string>& list) const {
    for (const std::string& v : list)
      if (const std::string wrong = (*this)(v); !wrong.empty()) return wrong + " ('" + v + "' is none)";
    return {};
  }
  template <class T>
  std::string operator()(const std::vector<T>& list) const {
    for (std::size_t i = 0; i < list.size(); ++i) {
      const std::string wrong = check_number(static_cast<double>(list[i]), limits);
      if (!wrong.empty()) return wrong + " (element " + std::to_string(i) + ")";
    }
    return {};
  }
};

}  // namespace

std::string number_text(double value) {
  char buffer[64];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
  std::string text(buffer, error == std::errc() ? end : buffer);
  if (text.find_first_of(".einf") == std::string::npos) text += ".0";
  return text;
}

std::string describe_limits(const Limits& limits) {
  if (!limits.choices.empty()) {
    std::string text = "one of ";
    for (std::size_t i = 0; i < limits.choices.size(); ++i) text += (i ? ", '" : "'") + limits.choices[i] + "'";
    return text;
  }
  const bool low = std::isfinite(limits.lo), high = std::isfinite(limits.hi);
  if (low && high) return "in [" + limit_text(limits.lo) + ", " + limit_text(limits.hi) + "]";
  if (low) return "at least " + limit_text(limits.lo);
  if (high) return "at most " + limit_text(limits.hi);
  return {};
}

std::string check_limits(const FieldValue& value, const Limits& limits) { return std::visit(WithinLimits{limits}, value); }

std::string type_name(const FieldValue& value) {
  static constexpr const char* kNames[] = {"boolean", "integer",          "number",
                                           "string",  "list of integers", "list of numbers",
                                           "list of strings"};
  return kNames[value.index()];
}

}  // namespace ttt::result
