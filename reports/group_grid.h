// The samples of groups in rows and columns, and what is printed of them.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "reports/group_compare.h"
#include "reports/samples.h"
#include "reports/sides.h"

namespace ttt::reports {

// One metric in one row, over all columns.
struct Line {
  std::string metric, label, title;
  const char* form = "";
  Better better = Better::kLower;
  std::vector<std::vector<double>> samples;     // by column
  std::vector<std::set<const NamedRun*>> runs;  // that they are of
  std::set<std::string> fullnames;              // that the row takes together
  bool everywhere() const {
    return std::none_of(samples.begin(), samples.end(), [](const auto& s) { return s.empty(); });
  }
};

struct Grid {
  std::vector<Side> sides;
  std::vector<Line> lines;         // those of one metric stand together
  std::vector<std::string> meant;  // keys that are meant to differ: of rows, of columns, and those ignored
  bool has_everywhere(const std::string& metric) const;
};

// Throws UsageError for keys that no run has, a metric that no run has, and fewer than two columns.
Grid grid_of(const std::vector<Group>& groups, const GroupOptions& options);
std::vector<const Line*> lines_of(const Grid& grid, const std::string& metric);

// Nothing where one of both columns is empty.
std::optional<GroupChange> change_of(const Line& line, std::size_t side);

// Of the medians of those rows that all columns have.
struct Means {
  std::vector<double> of_side;
  std::size_t rows = 0;
};
Means geometric_means(const std::vector<const Line*>& lines, std::size_t sides);

// Metrics of one row share a table; each of several rows has its own, which ends with the geometric mean.
void add_tables(const Grid& grid, Document& document);

// What the comparison says of one column by the metric, in a sentence or two.
std::string answer(const Grid& grid, const std::string& metric, std::size_t side);

// Whether no row of the metric is shown to be worse by more than `limit`, and the sentences that say so. Throws
// UsageError for too few runs.
struct GateFinding {
  bool passed = true;
  std::vector<std::string> sentences;
};
GateFinding gate(const Grid& grid, const std::string& metric, double limit);

std::string signed_percent(double share);              // "+1.25 %"
std::string interval_text(const GroupChange& change);  // "+1.00 to +1.50 %"

}  // namespace ttt::reports
