// Numbers as the cells of a table: a text for people and the number behind it.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/statistics.h"
#include "core/text.h"
#include "reports/document.h"
#include "result/run_record.h"

namespace ttt::reports {

using result::fixed;

// Three digits that matter whatever the size: 12.3 us, 4.56 ms, 1.23 s.
inline std::string short_time(double s) {
  if (s < 0) return std::string("-").append(short_time(-s));
  if (s < 1e-6) return fixed("%.3g ns", s * 1e9);
  if (s < 1e-3) return fixed("%.3g us", s * 1e6);
  if (s < 1) return fixed("%.3g ms", s * 1e3);
  return fixed("%.3f s", s);
}

// The same for a rate: 523, 1.24 k, 17.2 M.
inline std::string prefixed(double x) {
  constexpr std::pair<double, const char*> kPrefixes[] = {{1e12, " T"}, {1e9, " G"}, {1e6, " M"}, {1e3, " k"}};
  for (const auto& [size, prefix] : kPrefixes)
    if (std::abs(x) >= 0.9995 * size) return fixed("%.3g", x / size) + prefix;
  return fixed("%.3g", x);
}

inline Cell seconds(double s) { return {fixed("%.3f s", s), s, "s"}; }
inline Cell short_seconds(double s) { return {short_time(s), s, "s"}; }
inline Cell percent(double share) { return {fixed("%.1f %%", share * 100), share * 100, "%"}; }
inline Cell number(const char* pattern, double x) { return {fixed(pattern, x), x}; }
// `text` of an estimate with its interval, all in `unit`.
inline Cell interval_cell(std::string text, const Interval& i, std::string unit = "") {
  Cell cell{std::move(text), i.estimate, std::move(unit)};
  cell.values.insert(cell.values.end(), {i.low, i.high});
  return cell;
}
// "-" where the evaluation has no such metric, or where there was nothing to judge (below 0).
inline Cell metric_cell(const char* pattern, const result::Evaluation& e, const std::string& name) {
  const double* value = result::find(e.metrics, name);
  return value && *value >= 0 ? number(pattern, *value) : Cell("-");
}
inline Cell whole(std::int64_t n) { return {std::to_string(n), static_cast<double>(n)}; }

}  // namespace ttt::reports
