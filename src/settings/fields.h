// A settings struct declares each of its fields once; parsing, JSON, --print-recipe and the documentation are visitors.
//
//   struct Solver {
//     double lr = 0.02;
//     std::string schedule = "step";
//     template <class Self, class Visitor>
//     static void fields(Self& s, Visitor&& v) {
//       v("lr", s.lr, "base learning rate at the global batch [1/step]", at_least(0.0));
//       v("schedule", s.schedule, "learning-rate schedule", one_of({"step", "cosine"}));
//     }
//   };
//
// `Self` is the struct or its const form, so one declaration reads and writes. A member that is itself such a struct is
// a group: v("solver", s.solver, "optimiser and schedule").
// Field types: bool, std::int64_t, double, std::string, std::vector<std::int64_t>, std::vector<double>,
// std::vector<std::string>, and groups.
#pragma once

#include <initializer_list>
#include <limits>
#include <string>
#include <vector>

namespace ttt {

// What a value must satisfy beyond its type. Numbers: [lo, hi], strings: one of `choices`; each element of a list alike.
struct Limits {
  double lo = -std::numeric_limits<double>::infinity();
  double hi = std::numeric_limits<double>::infinity();
  std::vector<std::string> choices;
};

inline Limits any() { return {}; }
inline Limits at_least(double lo) { return {.lo = lo}; }
inline Limits between(double lo, double hi) { return {.lo = lo, .hi = hi}; }
inline Limits one_of(std::initializer_list<const char*> names) {
  Limits l;
  for (const char* n : names) l.choices.emplace_back(n);
  return l;
}

template <class T>
concept FieldGroup = requires(T& t) { T::fields(t, [](auto&&...) {}); };

}  // namespace ttt
