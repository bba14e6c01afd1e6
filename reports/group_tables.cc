// The tables of a comparison of groups.
#include <algorithm>

#include "reports/group_grid.h"
#include "reports/groups.h"
#include "reports/numbers.h"

namespace ttt::reports {
namespace {

// "95.228 ± 2 %"
Cell median_cell(const char* form, const std::vector<double>& samples) {
  if (samples.empty()) return "-";
  const Centre c = centre(samples);
  Cell cell = centre_cell(form, c);
  cell.text = fixed(form, c.median);
  if (c.runs > 1) cell.text += fixed(" ± %.0f %%", 100 * std::max(c.high / c.median - 1, 1 - c.low / c.median));
  return cell;
}

Row row_of(const std::string& name, const Line& line) {
  Row row = {name};
  for (std::size_t s = 0; s < line.samples.size(); ++s) {
    row.push_back(median_cell(line.form, line.samples[s]));
    if (s == 0) continue;
    const auto change = change_of(line, s);
    if (!change) {
      row.insert(row.end(), {"-", "-", "-"});
      continue;
    }
    row.push_back(change_cell(*change));
    row.push_back(change->runs_a > 1 && change->runs_b > 1 ? number("%.3f", change->p) : Cell("-"));
    row.push_back(std::to_string(change->runs_a) + "+" + std::to_string(change->runs_b));
  }
  return row;
}

Table table_with(const std::vector<Side>& sides) {
  Table t{.header = {""}, .right = {false}};
  for (std::size_t s = 0; s < sides.size(); ++s) {
    t.header.add_data(sides[s].title), t.right.push_back(true);
    if (s == 0) continue;
    if (sides.size() == 2) t.header.add("change"), t.header.add("p"), t.header.add("n");
    else
      for (const char* column : {": change", ": p", ": n"}) t.header.add_data(sides[s].title + column);
    t.right.insert(t.right.end(), {true, true, true});
  }
  return t;
}

void add_means(const std::vector<const Line*>& lines, const Grid& g, Table& t) {
  const Means m = geometric_means(lines, g.sides.size());
  if (m.rows == 0) return;
  Row row;
  for (std::size_t s = 0; s < m.of_side.size(); ++s) {
    row.push_back(number(lines[0]->form, m.of_side[s]));
    if (s == 0) continue;
    const double change = m.of_side[s] / m.of_side[0] - 1;
    row.insert(row.end(), {{signed_percent(change), 100 * change, "%"}, "-", std::to_string(m.rows) + " rows"});
  }
  t.add("geometric mean", std::move(row));
}

}  // namespace

void add_tables(const Grid& g, Document& d) {
  Table shared = table_with(g.sides);
  Document others;
  for (std::size_t i = 0; i < g.lines.size();) {
    const Line& line = g.lines[i];
    const auto lines = lines_of(g, line.metric);
    i += lines.size();
    if (lines.size() == 1) {
      shared.rows.push_back(row_of(line.label + (line.title.empty() ? "" : ": " + line.title), line));
      continue;
    }
    Table t = table_with(g.sides);
    for (const Line* l : lines) t.rows.push_back(row_of(l->title, *l));
    add_means(lines, g, t);
    others.push_back(Heading{line.label}), others.push_back(std::move(t));
  }
  if (!shared.rows.empty()) d.push_back(std::move(shared));
  d.insert(d.end(), std::make_move_iterator(others.begin()), std::make_move_iterator(others.end()));
}

}  // namespace ttt::reports
