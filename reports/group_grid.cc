#include "reports/group_grid.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/error.h"
#include "core/nearest.h"
#include "reports/groups.h"
#include "reports/keys.h"

namespace ttt::reports {
namespace {

using result::Json;
using Tuple = std::vector<std::string>;

struct Entry {  // a sample with what keys say of it
  const NamedRun* run = nullptr;
  Sample sample;
  Subject subject;
};

// The result without its samples, which no key names.
Json document_of(result::RunRecord r) {
  r.steps.truncate(0);
  r.recipe.settings = resolved_settings(r);
  r.comparisons.clear(), r.accuracy.clear(), r.events.clear(), r.trace.reset(), r.telemetry.reset();
  return to_json(r);
}

std::vector<Entry> entries_of(const std::vector<Group>& groups, std::vector<Json>& documents, const Filter& filter) {
  for (const Group& g : groups)
    for (const NamedRun& run : g.runs) documents.push_back(document_of(run.record));
  std::vector<Entry> entries;
  std::size_t document = 0;
  for (const Group& g : groups)
    for (const NamedRun& run : g.runs) {
      const Json* json = &documents[document++];
      for (Sample& s : samples_of(run.record)) {
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
        throw UsageError("No result has the key '" + key + "'." +
                         nearest_and(key, known, "'report compare --help' says what keys are."));
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

Grid arranged(const std::vector<Entry>& entries, const Projection& row, const Projection& col) {
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

std::vector<std::string> metrics_of(const Grid& g) {
  std::vector<std::string> metrics;
  for (const Line& line : g.lines) metrics.push_back(line.metric);
  return metrics;
}

}  // namespace

Grid grid_of(const std::vector<Group>& groups, const GroupOptions& o) {
  const Filter filter(o.filter);
  Projection row("--row", o.row), col("--col", o.col);
  std::vector<Json> documents;
  std::vector<Entry> entries = entries_of(groups, documents, filter);
  check_keys({filter.keys(), row.keys(), col.keys(), o.ignored}, documents);
  const auto add_keys = [](const Tuple& keys, Tuple& to) {
    for (const std::string& key : keys) to.push_back(settings_key(key));
  };
  Tuple meant;
  for (const Tuple& keys : {o.ignored, row.keys(), col.keys()}) add_keys(keys, meant);
  const Tuple varying = varying_keys(entries, meant);
  row.expand_config(varying), col.expand_config(varying);
  std::erase_if(entries, [&](const Entry& e) { return !row.admits(e.subject) || !col.admits(e.subject); });
  Grid g = arranged(entries, row, col);
  if (g.sides.size() < 2)
    throw UsageError("A comparison needs two columns, and there " +
                     std::string(g.sides.empty() ? "is none" : "is one, '" + g.sides[0].title + "'") +
                     ". Name groups as A... -- B..., or give --col a key that varies.");
  if (!o.metric.empty()) check_metric(o.metric, metrics_of(g));
  for (const Tuple& keys : {row.keys(), col.keys()}) add_keys(keys, meant);
  g.meant = std::move(meant);
  return g;
}

bool Grid::has_everywhere(const std::string& metric) const {
  return std::any_of(lines.begin(), lines.end(), [&](const Line& l) { return l.metric == metric && l.everywhere(); });
}

std::vector<const Line*> lines_of(const Grid& g, const std::string& metric) {
  std::vector<const Line*> out;
  for (const Line& line : g.lines)
    if (line.metric == metric) out.push_back(&line);
  return out;
}

std::optional<GroupChange> change_of(const Line& line, std::size_t side) {
  if (line.samples[0].empty() || line.samples[side].empty()) return std::nullopt;
  return group_change(line.samples[0], line.samples[side]);
}

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

}  // namespace ttt::reports
