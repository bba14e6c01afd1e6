// What `report machines` says and shows.
#include <algorithm>
#include <set>

#include "core/error.h"
#include "core/statistics.h"
#include "reports/groups.h"
#include "reports/machines.h"
#include "reports/numbers.h"
#include "reports/run_metrics.h"
#include "reports/run_names.h"

namespace ttt::reports {
namespace {

using result::RunRecord;

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) text += (i == 0 ? "" : ", ") + parts[i];
  return text;
}

std::string spaced(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

std::string ends_text(const Factor& f) {
  return fixed(f.is_interval ? "%.2f to %.2f, 95 %%" : "%.2f to %.2f, the range", f.times.low, f.times.high);
}

bool is_shown(const Factor& f) { return f.times.low > 1 || f.times.high < 1; }

std::string answer(const Machine& a, const Machine& b, const MachinePair& pair) {
  if (!pair.speed) return a.name + " and " + b.name + " did no work in common: no ratio of their speeds is known.";
  const std::string times =
      fixed("%.2f", pair.speed->times.estimate) + " times as fast (" + ends_text(*pair.speed) + ")";
  return (is_shown(*pair.speed)
                 ? a.name + " is " + times + " as " + b.name
                 : "No difference between " + a.name + " and " + b.name + " is shown: the first is " + times) +
         ", by " + pair.work + ".";
}

// Names with their factors: those in favour of the first, then those of the other.
std::string list_of(const std::vector<Factor>& factors) {
  std::vector<std::string> parts;
  for (const Factor& f : factors) parts.push_back(spaced(f.name) + fixed(" %.2fx", f.times.estimate));
  return joined(parts);
}

std::string phases_text(const std::vector<Factor>& phases) {
  std::vector<std::string> parts;
  for (const Factor& f : phases)
    if (f.share >= 0.05) parts.push_back(spaced(f.name) + fixed(" %.0f %% (%.2fx)", 100 * f.share, f.times.estimate));
  return joined(parts);
}

void add_reasons(const std::string& who, const MachinePair& pair, std::vector<std::string>& reasons) {
  if (pair.speed && !pair.factors.empty())
    reasons.push_back("Factors of time to target" + who + ": " + list_of(pair.factors) + ".");
  if (pair.speed && is_shown(*pair.speed) && !phases_text(pair.phases).empty())
    reasons.push_back("Of the difference of a step's time" + who + ": " + phases_text(pair.phases) + ".");
  if (!pair.peaks.empty())
    reasons.push_back("Largest differences of the ceilings" + who + ": " + list_of(pair.peaks) + ".");
}

// The records by which machines were judged.
std::vector<const RunRecord*> used(const Machine& m) {
  std::vector<const RunRecord*> records = m.passed;
  for (const auto& [name, step] : m.baselines) records.push_back(step.of);
  return records;
}

void add_cautions(const MachineFacts& facts, std::vector<std::string>& cautions) {
  std::set<std::string> commits, days, keys;
  const RunRecord* first = nullptr;
  for (const Machine& m : facts.machines) {
    if (m.passed.empty())
      cautions.push_back(
          m.name + ": no run reached the target, so it has no time to target. ttt_maskrcnn measures it.");
    if (m.peaks.empty()) cautions.push_back(m.name + ": its ceilings were not measured. roofline measures them.");
    if (m.left_out > 0)
      cautions.push_back(m.name + ": results with other numbers of ranks than " + std::to_string(m.ranks) +
                         " do not count here (" + std::to_string(m.left_out) + ").");
    for (const RunRecord* r : used(m)) {
      commits.insert(commit_text(*r)), days.insert(text_at(r->provenance, "started_at").substr(0, 10));
      if (!first) first = r;
      for (const Difference& d : differences(*first, *r, {"seed"}))
        if (!d.unknown) keys.insert(d.key);
    }
  }
  const auto list = [](const std::set<std::string>& s) { return joined({s.begin(), s.end()}); };
  if (commits.size() > 1) cautions.push_back("Measured by different commits: " + list(commits) + ".");
  if (days.size() > 1) cautions.push_back("Measured on different days: " + list(days) + ".");
  if (!keys.empty()) cautions.push_back("The recipes differ in " + list(keys) + ".");
}

Cell median_cell(const std::vector<double>& values, const char* pattern, double scale, const char* unit) {
  if (values.empty()) return "-";
  std::vector<double> scaled = values;
  for (double& v : scaled) v *= scale;
  Cell cell = centre_cell(pattern, centre(scaled));
  cell.unit = unit;
  return cell;
}

Cell peak_cell(const Machine& m, const std::string& name) {
  const auto it = m.peaks.find(name);
  if (it == m.peaks.end()) return "-";
  const double rate = median(it->second->samples);
  return {fixed("%.3g G", rate / 1e9) + it->second->unit, rate, it->second->unit};
}

Table table_of(const MachineFacts& facts) {
  Table t{.header = {"machine", "ranks", "runs", "time to target", "images/s of a step", "time of a step"},
      .right = {false}};
  std::set<std::string> peaks;
  for (const Machine& m : facts.machines)
    for (const auto& [name, peak] : m.peaks) peaks.insert(name);
  for (const std::string& name : peaks) t.header.add_data(spaced(name));
  t.header.add("step time with bf16");
  t.right.resize(t.header.names().size(), true);
  for (const Machine& m : facts.machines) {
    std::vector<double> times, rates, steps;
    for (const RunRecord* r : m.passed) {
      times.push_back(time_factors(*r).time_to_target_s);
      if (const auto of_steps = step_rates(*r); !of_steps.empty()) rates.push_back(median(of_steps));
      if (r->steps.size()) steps.push_back(median(r->steps.step_s));
    }
    Row row = {m.name, whole(m.ranks), whole(static_cast<std::int64_t>(m.passed.size())),
        median_cell(times, "%.1f", 1, "s"), median_cell(rates, "%.1f", 1, ""), median_cell(steps, "%.1f", 1e3, "ms")};
    for (const std::string& name : peaks) row.push_back(peak_cell(m, name));
    row.push_back(m.bf16 ? Cell(fixed("%+.1f %%", 100 * m.bf16->estimate), 100 * m.bf16->estimate, "%") : Cell("-"));
    t.rows.push_back(std::move(row));
  }
  return t;
}

}  // namespace

void add_sentences(MachineFacts& facts) {
  for (const MachinePair& pair : facts.pairs) {
    const Machine &a = facts.machines[pair.first], &b = facts.machines[pair.other];
    facts.answers.push_back(answer(a, b, pair));
    add_reasons(facts.pairs.size() > 1 ? " to " + b.name : "", pair, facts.reasons);
  }
  add_cautions(facts, facts.cautions);
}

Document machines(const std::vector<NamedRun>& runs) {
  const MachineFacts facts = machine_facts(runs);
  if (facts.machines.size() < 2)
    throw UsageError("All results are of one machine (" + (facts.machines.empty() ? "none" : facts.machines[0].name) +
                     "). Name results of two or more, or tell machines of one name apart with --label FILE=NAME.");
  Document d;
  for (const std::string& text : facts.answers) d.push_back(Paragraph{text});
  d.push_back(table_of(facts));
  for (const std::string& text : facts.reasons) d.push_back(Paragraph{text});
  for (const std::string& text : facts.cautions) d.push_back(Paragraph{"! " + text});
  return d;
}

}  // namespace ttt::reports
