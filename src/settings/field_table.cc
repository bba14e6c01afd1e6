#include "settings/field_table.h"

#include <algorithm>
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

std::string count_text(const Limits& limits) {
  const std::string most = std::to_string(limits.most);
  return limits.least == limits.most ? most : std::to_string(limits.least) + " to " + most;
}

std::string range_text(const Limits& limits) {
  if (limits.choices.empty())
    return std::isfinite(limits.lo) && std::isfinite(limits.hi)
               ? "in [" + limit_text(limits.lo) + ", " + limit_text(limits.hi) + "]"
               : "";
  std::string text = "one of ";
  for (std::size_t i = 0; i < limits.choices.size(); ++i) text += (i ? ", '" : "'") + limits.choices[i] + "'";
  return text;
}

struct WithinLimits {
  const Limits& limits;

  std::string operator()(bool) const { return {}; }
  std::string operator()(std::int64_t v) const { return (*this)(static_cast<double>(v)); }
  std::string operator()(double v) const {
    if (!std::isfinite(v)) return "must be finite";
    return v >= limits.lo && v <= limits.hi ? "" : "must be " + range_text(limits);
  }
  std::string operator()(const std::string& v) const {
    const auto& choices = limits.choices;
    return choices.empty() || std::find(choices.begin(), choices.end(), v) != choices.end()
               ? ""
               : "must be " + range_text(limits);
  }
  template <class T> std::string operator()(const std::vector<T>& list) const {
    if (list.size() < limits.least || list.size() > limits.most)
      return "must have " + count_text(limits) + " elements and has " + std::to_string(list.size());
    for (std::size_t i = 0; i < list.size(); ++i)
      if (const std::string wrong = (*this)(list[i]); !wrong.empty()) return wrong + element_text(list[i], i);
    return {};
  }

 private:
  static std::string element_text(const std::string& v, std::size_t) { return " ('" + v + "' is none)"; }
  static std::string element_text(double, std::size_t i) { return " (element " + std::to_string(i) + ")"; }
};

}  // namespace

std::string number_text(double value) {
  char buffer[64];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
  std::string text(buffer, error == std::errc() ? end : buffer);
  if (text.find_first_of(".einf") == std::string::npos) text += ".0";
  return text;
}

std::string describe_limits(const FieldValue& value, const Limits& limits) {
  const bool list = value.index() >= 4, counted = limits.least != Limits{}.least || limits.most != Limits{}.most;
  return range_text(limits) + (list && counted ? ", " + count_text(limits) + " of them" : "");
}

std::string check_limits(const FieldValue& value, const Limits& limits) {
  return std::visit(WithinLimits{limits}, value);
}

std::string type_name(const FieldValue& value) {
  static constexpr const char* kNames[] = {
      "boolean", "integer", "number", "string", "list of integers", "list of numbers", "list of strings"};
  return kNames[value.index()];
}

}  // namespace ttt::result
