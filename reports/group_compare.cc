#include "reports/group_compare.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/error.h"
#include "core/nearest.h"
#include "reports/groups.h"
#include "reports/keys.h"
#include "reports/numbers.h"
#include "reports/samples.h"
#include "reports/sides.h"

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

namespace {

std::string signed_percent(double share) { return fixed("%+.2f %%", 100 * share); }

std::string interval_text(const GroupChange& c) {
  return fixed("%+.2f to %+.2f %%", 100 * c.interval->low, 100 * c.interval->high);
}

}  // namespace

Cell change_cell(const GroupChange& c) {
  Cell cell((c.is_shown() ? "" : "~ ") + signed_percent(c.estimate), 100 * c.estimate, "%");
  if (!c.interval) return cell;
  cell.text += " (" + interval_text(c) + ")";
  cell.values.insert(cell.values.end(), {100 * c.interval->low, 100 * c.interval->high});
  return cell;
}

namespace {

using result::Json;
using Tuple = std::vector<std::string>;

struct Entry {  // a sample with what keys say of it
  const NamedRun* run = nullptr;
  Sample sample;
  Subject subject;
};

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
  std::vector<Line> lines;  // those of one metric stand together
};

// The result without its samples, which no key names.
Json document_of(result::RunRecord r) {
  r.steps.truncate(0);
  r.comparisons.clear(), r.accuracy.clear(), r.events.clear(), r.trace.reset(), r.telemetry.reset();
  return to_json(r);
}

std::vector<Entry> entries_of(
    const std::vector<Group>& groups, std::vector<Json>& documents, const Filter& filter, std::vector<Sample>& all) {
  for (const Group& g : groups)
    for (const NamedRun& run : g.runs) documents.push_back(document_of(run.record));
  std::vector<Entry> entries;
  std::size_t document = 0;
  for (const Group& g : groups)
    for (const NamedRun& run : g.runs) {
      const Json* json = &documents[document++];
      for (Sample& s : samples_of(run.record)) {
        all.push_back(s);
        const Subject subject{json, g.title, run.name, s.name, s.fullname, s.metric};
        if (filter.matches(subject)) entries.push_back({&run, std::move(s), subject});
      }
    }
  return entries;
}

// A setting's key as --set writes it.
std::string settings_key(const std::string& key) {
  constexpr std::string_view kRoot = "recipe.settings.";
  return key.starts_with(kRoot) ? key.substr(kRoot.size()) : key;
}

// Keys that no run has are slips of the pen.
void check_keys(const std::vector<Tuple>& lists, const std::vector<Json>& documents) {
  std::vector<std::string> known = {".name", ".fullname", ".unit", ".group", ".file", ".config"};
  for (const Json& d : documents)
    for (const std::string& key : leaves(d)) { known.insert(known.end(), {key, settings_key(key)}); }
  for (const Tuple& keys : lists)
    for (const std::string& key : keys) {
      const bool found = std::find(known.begin(), known.end(), key) != known.end() ||
                         std::any_of(documents.begin(), documents.end(),
                             [&](const Json& d) { return value_of({.document = &d}, key).has_value(); });
      if (!found)
        throw UsageError("No result has the key '" + key + "'. The nearest is '" + nearest(key, known) + "'.");
    }
}

// The keys of ".config" that vary and that nothing else asks for.
Tuple varying_keys(const std::vector<Entry>& entries, const Tuple& taken) {
  Tuple keys;
  std::set<std::string> seen;
  for (const Entry& e : entries)
    for (const std::string& key : config_keys(*e.subject.document)) {
      if (!seen.insert(key).second || is_harmless(key)) continue;
      const bool is_taken = std::find(taken.begin(), taken.end(), key) != taken.end();
      const auto first = value_of(entries[0].subject, key);
      const bool varies = std::any_of(
          entries.begin(), entries.end(), [&](const Entry& other) { return value_of(other.subject, key) != first; });
      if (varies && !is_taken) keys.push_back(key);
    }
  return keys;
}

std::size_t place_of(const std::vector<Tuple>& sorted, const Tuple& tuple) {
  return static_cast<std::size_t>(std::find(sorted.begin(), sorted.end(), tuple) - sorted.begin());
}

std::vector<Tuple> places(const std::vector<Entry>& entries, const Projection& projection) {
  std::vector<Tuple> tuples;
  for (const Entry& e : entries)
    if (Tuple t = projection.project(e.subject); place_of(tuples, t) == tuples.size()) tuples.push_back(std::move(t));
  projection.sort(tuples);
  return tuples;
}

Grid grid_of(const std::vector<Entry>& entries, const Projection& row, const Projection& col) {
  const std::vector<Tuple> rows = places(entries, row), columns = places(entries, col);
  Grid g;
  for (const Tuple& c : columns) g.sides.push_back({col.title(c), {}});
  std::vector<std::string> metrics;
  std::map<std::pair<std::size_t, std::size_t>, Line> lines;  // by metric and row
  for (const Entry& e : entries) {
    const auto known = std::find(metrics.begin(), metrics.end(), e.sample.metric);
    const auto metric = static_cast<std::size_t>(known - metrics.begin());
    if (known == metrics.end()) metrics.push_back(e.sample.metric);
    const Tuple r = row.project(e.subject);
    const std::size_t c = place_of(columns, col.project(e.subject));
    Line& line = lines[{metric, place_of(rows, r)}];
    if (line.samples.empty())
      line = {e.sample.metric, e.sample.label, row.title(r), e.sample.form, e.sample.better,
          std::vector<std::vector<double>>(columns.size()), std::vector<std::set<const NamedRun*>>(columns.size()), {}};
    line.samples[c].push_back(e.sample.value);
    line.runs[c].insert(e.run);
    line.fullnames.insert(e.sample.fullname);
    auto& runs = g.sides[c].runs;
    if (std::find(runs.begin(), runs.end(), e.run) == runs.end()) runs.push_back(e.run);
  }
  for (auto& [place, line] : lines) g.lines.push_back(std::move(line));
  return g;
}

// "95.228 ± 2 %"
Cell median_cell(const char* form, const std::vector<double>& samples) {
  if (samples.empty()) return "-";
  const Centre c = centre(samples);
  Cell cell = centre_cell(form, c);
  cell.text = fixed(form, c.median);
  if (c.runs > 1) cell.text += fixed(" ± %.0f %%", 100 * std::max(c.high / c.median - 1, 1 - c.low / c.median));
  return cell;
}

std::string runs_text(const GroupChange& c) { return "n=" + std::to_string(c.runs_a) + "+" + std::to_string(c.runs_b); }
std::string p_text(const GroupChange& c) {
  return (c.runs_a > 1 && c.runs_b > 1 ? fixed("p=%.3f ", c.p) : "") + runs_text(c);
}

std::optional<GroupChange> change_of(const Line& line, std::size_t side) {
  if (line.samples[0].empty() || line.samples[side].empty()) return std::nullopt;
  return group_change(line.samples[0], line.samples[side]);
}

Row row_of(const std::string& name, const Line& line) {
  Row row = {name};
  for (std::size_t s = 0; s < line.samples.size(); ++s) {
    row.push_back(median_cell(line.form, line.samples[s]));
    if (s == 0) continue;
    const auto change = change_of(line, s);
    row.push_back(change ? change_cell(*change) : Cell("-"));
    row.push_back(change ? Cell(p_text(*change), change->p, "") : Cell("-"));
  }
  return row;
}

// Of the medians of those rows that all columns have.
struct Means {
  std::vector<double> of_side;
  std::size_t rows = 0;
};
Means geometric_means(const std::vector<const Line*>& lines, std::size_t sides) {
  Means m{std::vector<double>(sides, 0.0)};
  for (const Line* line : lines) {
    if (!line->everywhere()) continue;
    ++m.rows;
    for (std::size_t s = 0; s < sides; ++s) m.of_side[s] += std::log(median(line->samples[s]));
  }
  for (double& x : m.of_side) x = std::exp(x / static_cast<double>(m.rows));
  return m;
}

Table table_with(const std::vector<Side>& sides) {
  Table t{.header = {""}, .right = {false}};
  for (std::size_t s = 0; s < sides.size(); ++s) {
    t.header.add_data(sides[s].title), t.right.push_back(true);
    if (s == 0) continue;
    if (sides.size() == 2) t.header.add("change"), t.header.add("p, n");
    else t.header.add_data(sides[s].title + ": change"), t.header.add_data(sides[s].title + ": p, n");
    t.right.insert(t.right.end(), {true, true});
  }
  return t;
}

std::vector<const Line*> lines_of(const Grid& g, const std::string& metric) {
  std::vector<const Line*> out;
  for (const Line& line : g.lines)
    if (line.metric == metric) out.push_back(&line);
  return out;
}

void add_means(const std::vector<const Line*>& lines, const Grid& g, Table& t) {
  const Means m = geometric_means(lines, g.sides.size());
  if (m.rows == 0) return;
  Row row;
  for (std::size_t s = 0; s < m.of_side.size(); ++s) {
    row.push_back(number(lines[0]->form, m.of_side[s]));
    if (s == 0) continue;
    const double change = m.of_side[s] / m.of_side[0] - 1;
    row.push_back({signed_percent(change), 100 * change, "%"}), row.push_back(std::to_string(m.rows) + " rows");
  }
  t.add("geometric mean", std::move(row));
}

// Metrics of one row share a table; each of several rows has its own, which ends with the geometric mean.
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

// The metric of the first line: what was asked for, else the first of these that all columns have.
std::string leading_metric(const Grid& g, const std::string& asked) {
  if (!asked.empty()) return asked;
  const auto is_everywhere = [](const Line& line) { return line.everywhere(); };
  for (const char* metric : {"time to target", "baseline step", "step time"})
    for (const Line* line : lines_of(g, metric))
      if (line->everywhere()) return metric;
  const auto any = std::find_if(g.lines.begin(), g.lines.end(), is_everywhere);
  if (any == g.lines.end()) throw UsageError("No metric is in all columns. Name results of one kind.");
  return any->metric;
}

// Whether less of it, or more of a rate, is faster.
bool is_speed(const Line& line) { return line.metric == "images/s" || line.label.ends_with("s]"); }

// "time to target 95.200 s -> 68.000 s"
std::string medians_text(const Line& line, double from, double to) {
  const std::size_t open = line.label.find(" [");
  const std::string unit = is_speed(line) && open != std::string::npos
                               ? " " + line.label.substr(open + 2, line.label.size() - open - 3)
                               : "";
  return line.metric + " " + fixed(line.form, from) + unit + " -> " + fixed(line.form, to) + unit;
}

// "B is 1.40 times as fast as A (time to target 95.200 s -> 68.000 s, 95 % interval 1.32 to 1.47", the faster first.
std::string ratio_text(const Tuple& titles, const Line& line, double change, const std::optional<Bounds>& interval,
    const std::string& of) {
  const bool inverse = is_speed(line) && line.better == Better::kLower;
  const auto factor = [&](double share) { return inverse ? 1 / (1 + share) : 1 + share; };
  const bool second_leads = factor(change) >= 1;
  const auto led = [&](double share) { return second_leads ? factor(share) : 1 / factor(share); };
  const std::string &first = titles[second_leads], &other = titles[!second_leads];
  std::string text = first + (is_speed(line) ? " is " : " has ") + fixed("%.2f", led(change)) +
                     (is_speed(line) ? " times as fast as " + other : " times the " + line.metric + " of " + other) +
                     " (" + of;
  if (interval) {
    const auto [low, high] = std::minmax({led(interval->low), led(interval->high)});
    text += fixed(", 95 %% interval %.2f to %.2f", low, high);
  }
  return text;
}

// What the comparison says of one column, in a sentence.
std::string answer(const Grid& g, const std::string& metric, std::size_t side) {
  const auto lines = lines_of(g, metric);
  const Line& line = *lines[0];
  const Tuple titles = {g.sides[0].title, g.sides[side].title};
  if (lines.size() > 1) {
    const Means m = geometric_means(lines, g.sides.size());
    if (m.rows == 0) return "No row of " + metric + " is in all columns.";
    return ratio_text(titles, line, m.of_side[side] / m.of_side[0] - 1, std::nullopt,
               "geometric mean of " + std::to_string(m.rows) + " rows, " +
                   medians_text(line, m.of_side[0], m.of_side[side])) +
           ").";
  }
  const auto change = change_of(line, side);
  if (!change) return metric + " is not in both " + titles[0] + " and " + titles[1] + ".";
  const std::string medians = medians_text(line, median(line.samples[0]), median(line.samples[side]));
  if (change->is_shown())
    return ratio_text(titles, line, change->estimate, change->interval, medians) + ", " + p_text(*change) + ").";
  return "No difference shown between " + titles[0] + " and " + titles[1] + " (" + medians + ", " +
         (change->interval
                 ? "change " + interval_text(*change) + ", " + p_text(*change)
                 : runs_text(*change) + ": an interval needs " + std::to_string(kLeastRuns) + " runs of each side") +
         ").";
}

// Runs of a column that have no sample of the metric: they did not get there.
std::size_t runs_without(const Grid& g, const std::vector<const Line*>& lines, std::size_t side) {
  std::set<const NamedRun*> with;
  for (const Line* line : lines) with.insert(line->runs[side].begin(), line->runs[side].end());
  return g.sides[side].runs.size() - with.size();
}

// A sentence for each column and row; false where one of them fails.
bool gate(const Grid& g, const std::string& metric, double limit, Document& d) {
  bool passed = true;
  const auto lines = lines_of(g, metric);
  const auto say = [&](bool passes, const std::string& text) {
    passed &= passes;
    d.push_back(Paragraph{fixed("Gate of %g %%: ", 100 * limit) + (passes ? "passed. " : "failed. ") + text});
  };
  for (std::size_t s = 1; s < g.sides.size(); ++s) {
    const std::string& who = g.sides[s].title;
    if (const std::size_t without = runs_without(g, lines, s); without > 0) {
      say(false, std::to_string(without) + " of " + std::to_string(g.sides[s].runs.size()) + " runs of " + who +
                     " have no " + metric + ".");
      continue;
    }
    for (const Line* line : lines) {
      const auto change = change_of(*line, s);
      if (!change || !change->interval)
        throw UsageError("The gate needs " + std::to_string(kLeastRuns) + " runs of " + g.sides[0].title + " and of " +
                         who + " with " + metric + "; there are " + std::to_string(line->samples[0].size()) + " and " +
                         std::to_string(line->samples[s].size()) + ". Name more runs.");
      const bool lower = line->better == Better::kLower;
      const double near_end = lower ? change->interval->low : -change->interval->high;
      const double far_end = lower ? change->interval->high : -change->interval->low;
      const std::string what = line->label + (line->title.empty() ? "" : ", " + line->title) + " of " + who;
      const std::string measured = " (" + interval_text(*change) + ", " + p_text(*change) + ").";
      if (near_end > limit) say(false, what + " is worse by more" + measured);
      else
        say(true, what + " is not shown to be worse by more" + measured +
                      (far_end > limit ? " Nor is it ruled out: more runs would tell." : ""));
    }
  }
  return passed;
}

// Rows that take what is not one benchmark together.
void add_mixtures(const Grid& g, const Tuple& ignored, Table& t) {
  if (std::find(ignored.begin(), ignored.end(), ".fullname") != ignored.end()) return;
  for (const Line& line : g.lines)
    if (line.fullnames.size() > 1)
      t.rows.push_back({"!", "Samples of " + line.label + (line.title.empty() ? "" : ", " + line.title) +
                                 " vary in .fullname: " + std::to_string(line.fullnames.size()) + " values."});
}

}  // namespace

GroupComparison compare_groups(const std::vector<Group>& groups, const GroupOptions& o) {
  const Filter filter(o.filter);
  Projection row("--row", o.row), col("--col", o.col);
  std::vector<Json> documents;
  std::vector<Sample> all;
  std::vector<Entry> entries = entries_of(groups, documents, filter, all);
  check_keys({filter.keys(), row.keys(), col.keys(), o.ignored}, documents);
  Tuple meant;
  for (const std::string& key : o.ignored) meant.push_back(settings_key(key));
  for (const Projection* p : {&row, &col})
    for (const std::string& key : p->keys()) meant.push_back(settings_key(key));
  const Tuple varying = varying_keys(entries, meant);
  row.expand_config(varying), col.expand_config(varying);
  std::erase_if(entries, [&](const Entry& e) { return !row.admits(e.subject) || !col.admits(e.subject); });
  const Grid g = grid_of(entries, row, col);
  if (g.sides.size() < 2)
    throw UsageError("A comparison needs two columns, and there " +
                     std::string(g.sides.empty() ? "is none" : "is one, '" + g.sides[0].title + "'") +
                     ". Name groups as A... -- B..., or give --col a key that varies.");
  if (!o.metric.empty()) check_metric(o.metric, all);
  const std::string metric = leading_metric(g, o.metric);
  GroupComparison c;
  for (std::size_t s = 1; s < g.sides.size(); ++s) c.document.push_back(Paragraph{answer(g, metric, s)});
  c.document.push_back(Heading{"Comparison with " + g.sides[0].title}), c.document.push_back(identity(g.sides));
  add_tables(g, c.document);
  for (const Projection* p : {&row, &col})
    for (const std::string& key : p->keys()) meant.push_back(settings_key(key));
  Table warnings = cautions(g.sides, {meant, o.all});
  add_mixtures(g, o.ignored, warnings);
  if (!warnings.rows.empty())
    c.document.push_back(Heading{"Before these numbers are compared"}), c.document.push_back(std::move(warnings));
  if (o.gate) c.passed = gate(g, metric, *o.gate, c.document);
  return c;
}

}  // namespace ttt::reports
