// A settings struct declares each of its fields once; parsing, JSON, --print-recipe and the documentation are visitors.
//
//   struct Solver {
//     double lr = 0.02;
//     std::string schedule = "step";
//     template <class Self, class Visitor>
//     static void fields(Self& s, Visitor&& v) {
//       v("lr", s.lr, "base learning rate at the global batch [1/step]", between(0, 1000));
//       v("schedule", s.schedule, "learning-rate schedule", one_of({"step", "cosine"}));
//     }
//   };
//
// `Self` is the struct or its const form, so one declaration reads and writes. A member that is itself such a struct is
// a group: v("solver", s.solver, "optimiser and schedule").
// Numbers need limits: between(lo, hi), both finite, and count() for lists. They are judged before anything is built.
// Field types: bool, std::int64_t, double, std::string, std::vector<std::int64_t>, std::vector<double>,
// std::vector<std::string>, and groups.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <limits>
#include <string>
#include <vector>

namespace ttt {

// What a value must satisfy beyond its type. Numbers: [lo, hi], strings: one of `choices`; each element of a list
// alike. A list has `least` to `most` elements.
struct Limits {
  double lo = -std::numeric_limits<double>::infinity();
  double hi = std::numeric_limits<double>::infinity();
  std::vector<std::string> choices;
  std::size_t least = 0, most = 64;

  Limits count(std::size_t from, std::size_t to) const { return {lo, hi, choices, from, to}; }
};

inline Limits between(double lo, double hi) { return {.lo = lo, .hi = hi}; }
inline Limits one_of(std::initializer_list<const char*> names) {
  Limits l;
  for (const char* n : names) l.choices.emplace_back(n);
  return l;
}

// For lists of choices, LIST(X) X(sgd, "momentum SGD") ...: the names for one_of(), and the end of a field's doc.
#define TTT_CHOICE_NAME(name, doc) #name,
#define TTT_CHOICE_DOC(name, doc) "; " #name ": " doc

template <class T>
concept FieldGroup = requires(T& t) {
  T::fields(t, [](auto&&...) {});
};

}  // namespace ttt
