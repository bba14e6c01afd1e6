#include "reports/group_compare.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "reports/group_grid.h"
#include "reports/numbers.h"

namespace ttt::reports {

GroupChange group_change(const std::vector<double>& a, const std::vector<double>& b) {
  const auto logs = [](std::vector<double> v) {
    for (double& x : v) x = std::log(x);
    return v;
  };
  const std::vector<double> log_a = logs(a), log_b = logs(b);
  GroupChange c{
      .estimate = median(b) / median(a) - 1, .p = rank_sum_p(log_a, log_b), .runs_a = a.size(), .runs_b = b.size()};
  // The interval is that of the Hodges-Lehmann shift. The ratio of the medians is another estimate of it.
  if (const auto shift = rank_sum_interval(log_a, log_b))
    c.interval = Bounds{std::min(c.estimate, std::expm1(shift->low)), std::max(c.estimate, std::expm1(shift->high))};
  return c;
}

std::string signed_percent(double share) { return fixed("%+.2f %%", 100 * share); }

std::string interval_text(const GroupChange& c) {
  return fixed("%+.2f to %+.2f %%", 100 * c.interval->low, 100 * c.interval->high);
}

Cell change_cell(const GroupChange& c) {
  Cell cell((c.is_shown() ? "" : "~ ") + signed_percent(c.estimate), 100 * c.estimate, "%");
  if (!c.interval) return cell;
  cell.text += " (" + interval_text(c) + ")";
  cell.values.insert(cell.values.end(), {100 * c.interval->low, 100 * c.interval->high});
  return cell;
}

// Rows that take what is not one benchmark together.
static void add_mixtures(const Grid& g, const std::vector<std::string>& ignored, Table& t) {
  if (std::find(ignored.begin(), ignored.end(), ".fullname") != ignored.end()) return;
  for (const Line& line : g.lines)
    if (line.fullnames.size() > 1)
      t.rows.push_back({"!", "Samples of " + line.label + (line.title.empty() ? "" : ", " + line.title) +
                                 " vary in .fullname: " + std::to_string(line.fullnames.size()) + " values."});
}

// The metric of the first line: what was asked for, else the first of these that all columns have.
static std::string leading_metric(const Grid& g, const std::string& asked) {
  if (!asked.empty()) return asked;
  for (const char* metric : {"time to crossing", "time to target", "baseline step", "step time"})
    if (g.has_everywhere(metric)) return metric;
  for (const Line& line : g.lines)
    if (line.everywhere()) return line.metric;
  throw UsageError("No metric is in all columns. Name results of one kind.");
}

GroupComparison compare_groups(const std::vector<Group>& groups, const GroupOptions& o) {
  const Grid g = grid_of(groups, o);
  const std::string metric = leading_metric(g, o.metric);
  GroupComparison c;
  for (std::size_t s = 1; s < g.sides.size(); ++s) c.document.push_back(Paragraph{answer(g, metric, s)});
  if (o.gate) {
    GateFinding found = gate(g, metric, *o.gate);
    c.passed = found.passed;
    for (std::string& sentence : found.sentences) c.document.push_back(Paragraph{std::move(sentence)});
  }
  c.document.push_back(Heading{"Comparison with " + g.sides[0].title}), c.document.push_back(identity(g.sides));
  add_tables(g, c.document);
  Table warnings = cautions(g.sides, {g.meant, o.all});
  add_mixtures(g, o.ignored, warnings);
  if (!warnings.rows.empty())
    c.document.push_back(Heading{"Before these numbers are compared"}), c.document.push_back(std::move(warnings));
  return c;
}

}  // namespace ttt::reports
