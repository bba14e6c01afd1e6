// Shared by the files of `micro`. Each file times one operation beside a peer on the same inputs, after both results
// were compared.
//
// A file has a Case: built once for a shape, with a member function for each side, and
//   std::string label() const        the shape, in words
//   double items() const             work of one call, and
//   static constexpr kItems          its unit: "boxes/s"
//   std::string disagreement()       runs every side once; empty, or which differs by how much: then no time is taken
#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <span>
#include <string>

namespace ttt::micro {

// The case of one shape is kept until another is asked for: repetitions and sides share it, shapes do not add up in
// memory.
template <class Case, class Shape> Case& prepared(const Shape& shape, std::string& error) {
  struct Made {
    const Shape* of = nullptr;
    std::unique_ptr<Case> made;
    std::string error;
  };
  static Made last;
  if (last.of != &shape) {
    last.of = nullptr, last.made.reset();
    last.made = std::make_unique<Case>(shape);
    last.error = last.made->disagreement();
    last.of = &shape;
  }
  error = last.error;
  return *last.made;
}

// Adds the benchmark "operation/shape/side"; `shape` must live as long as the program.
template <class Case, class Shape>
benchmark::internal::Benchmark* add(const char* operation, const Shape& shape, const char* side, void (Case::*run)()) {
  const std::string name = std::string(operation) + "/" + shape.name + "/" + side;
  return benchmark::RegisterBenchmark(name.c_str(), [&shape, run](benchmark::State& state) {
    std::string error;
    Case& c = prepared<Case>(shape, error);
    if (!error.empty()) return state.SkipWithError(error.c_str());
    for (auto _ : state) {
      (c.*run)();
      benchmark::ClobberMemory();
    }
    const bool bytes = std::string(Case::kItems) == "bytes/s";
    state.counters[Case::kItems] = benchmark::Counter(c.items() * static_cast<double>(state.iterations()),
        benchmark::Counter::kIsRate, bytes ? benchmark::Counter::kIs1024 : benchmark::Counter::kIs1000);
    state.SetLabel(c.label());
  })->Unit(benchmark::kMicrosecond);
}

// "" where |ours - peer| <= tolerance * max(1, |peer|) everywhere, but for `fraction` of the elements.
template <class T> std::string difference(
    const char* what, std::span<const T> ours, std::span<const T> peer, double tolerance, double fraction = 0) {
  char text[200];
  if (ours.size() != peer.size() || ours.empty()) {
    std::snprintf(text, sizeof text, "%s: %zu results, the peer has %zu", what, ours.size(), peer.size());
    return text;
  }
  double worst = 0;
  std::size_t beyond = 0;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const double a = static_cast<double>(ours[i]), b = static_cast<double>(peer[i]),
                 off = std::abs(a - b) / std::max(1.0, std::abs(b));
    if (off <= tolerance) continue;  // a NaN is beyond
    ++beyond;
    worst = std::isnan(off) ? off : std::max(worst, off);
  }
  if (static_cast<double>(beyond) <= fraction * static_cast<double>(ours.size())) return "";
  std::snprintf(text, sizeof text, "%s: %zu of %zu results differ from the peer's, by up to %g (allowed: %g)", what,
      beyond, ours.size(), worst, tolerance);
  return text;
}

template <class... Args> std::string words(const char* pattern, Args... args) {
  char text[200];
  std::snprintf(text, sizeof text, pattern, args...);
  return text;
}

}  // namespace ttt::micro
