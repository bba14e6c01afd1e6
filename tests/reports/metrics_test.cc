// Every label that a report may print is derived in METRICS.md.
#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "reports/labels.h"
#include "tests/support/python.h"

namespace ttt::reports {
namespace {

// First column of the tables: a cell as it is, and what its commas part.
std::set<std::string> derived(const std::string& text) {
  std::set<std::string> terms;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("| ")) continue;
    std::string cell = line.substr(2, line.find(" |", 2) - 2);
    std::erase(cell, '*');
    terms.insert(cell);
    for (std::size_t begin = 0; begin != std::string::npos;) {
      const std::size_t comma = cell.find(", ", begin);
      terms.insert(cell.substr(begin, comma - begin));
      begin = comma == std::string::npos ? comma : comma + 2;
    }
  }
  return terms;
}

TEST(MetricsFile, EveryLabel_IsDerived) {
  const auto terms = derived(test::read_text(TTT_SOURCE_DIR "/reports/METRICS.md"));
  ASSERT_GT(terms.size(), 50u);
  for (const std::string_view label : kLabels)
    EXPECT_TRUE(label.empty() || terms.contains(std::string(label)))
        << "'" << label << "' is not derived in METRICS.md";
  EXPECT_FALSE(terms.contains("a metric that nobody derived"));
}

}  // namespace
}  // namespace ttt::reports
