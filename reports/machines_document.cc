// Sentences and tables of `report machines`.
#include <algorithm>
#include <set>

#include "core/error.h"
#include "core/statistics.h"
#include "core/text.h"
#include "reports/command_line.h"
#include "reports/groups.h"
#include "reports/machines.h"
#include "reports/numbers.h"
#include "reports/run_metrics.h"
#include "reports/run_names.h"

namespace ttt::reports {
namespace {

using result::joined;
using result::RunRecord;

std::string spaced(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

std::string answer(const Machine& a, const Machine& b, const MachinePair& pair) {
  if (!pair.speed) return a.name + " and " + b.name + " did no work in common: how their speeds compare is not known.";
  return speed_text(a.name, b.name, *pair.speed) + ", by " + pair.work + ".";
}

// Where baselines tell of another ratio than runs to the target, and why that may be. "" where they agree.
std::string disagreement(const Machine& a, const Machine& b, const MachinePair& pair) {
  const auto apart = [](const Interval& x, const Interval& y) { return x.low > y.high || y.low > x.high; };
  if (!pair.by_baselines || !apart(pair.speed->times, pair.by_baselines->times)) return "";
  const std::string both = "Not settled: by " + std::to_string(pair.names.size()) + " baselines of ablations " +
                           speed_text(a.name, b.name, *pair.by_baselines) + ". ";
  const auto epoch = std::find_if(
      pair.factors.begin(), pair.factors.end(), [](const Factor& f) { return f.name == "time per epoch"; });
  if (epoch != pair.factors.end() && !apart(epoch->times, pair.by_baselines->times))
    return both + "The time per epoch agrees with the baselines: epochs, evaluation or start-up make the difference.";
  const auto days = [&](const Machine& m, const Days& of_runs) {
    Days of_baselines;
    for (const std::string& name : pair.names) of_baselines.insert(day_of(*m.baselines.at(name).of));
    return m.name + " ran on " + joined(of_runs) + ", its baselines on " + joined(of_baselines);
  };
  return both + "One was another host, or a busy one, on one of the days: " + days(a, pair.days_of_first) + "; " +
         days(b, pair.days_of_other) + ". Run ttt_maskrcnn and ablate --all again, all on one day.";
}

std::string times_text(const Factor& f) { return spaced(f.name) + fixed(" %.2fx", f.times.estimate); }

void add_reasons(const std::string& to, const MachinePair& pair, std::vector<std::string>& reasons) {
  const auto add = [&](const std::string& what, const std::vector<std::string>& parts) {
    if (!parts.empty()) reasons.push_back(what + to + ": " + joined(parts) + ".");
  };
  std::vector<std::string> factors, addends, phases, peaks, alike;
  for (const Factor& f : pair.factors) factors.push_back(times_text(f));
  for (const Factor& f : pair.addends) addends.push_back(times_text(f));
  for (const Factor& f : pair.phases)
    if (f.share >= 0.05 && is_shown(*pair.speed))
      phases.push_back(spaced(f.name) + fixed(" %.0f %% (%.2fx)", 100 * f.share, f.times.estimate));
  for (const Factor& f : pair.peaks) (is_shown(f) ? peaks : alike).push_back(times_text(f));
  add("Factors of " + (pair.speed ? pair.speed->name : "time"), factors);
  add("Added to their product", addends);
  add("Of the difference of a step's time", phases);
  add("Largest differences", peaks);
  add("No difference shown", alike);
}

// What does not belong to the answer's results.
void add_other_peaks(const std::string& to, const MachinePair& pair, std::vector<std::string>& cautions) {
  std::vector<std::string> texts;
  for (const Factor& f : pair.other_peaks) texts.push_back(times_text(f));
  if (!texts.empty() && pair.speed)
    cautions.push_back("Ceilings were measured on other days than the answer's results, so they need not explain it" +
                       to + ": " + joined(texts) + ". Run roofline on the day of the runs.");
}

// Commits and days of what counts, "e92fd049d0 (2026-11-23)".
std::set<std::string> versions_of(const Machine& m) {
  std::set<std::string> versions;
  const auto add = [&](const RunRecord& r) {
    versions.insert(commit_text(r) + " (" + text_at(r.provenance, "started_at").substr(0, 10) + ")");
  };
  for (const RunRecord* r : m.passed) add(*r);
  for (const auto& [name, step] : m.baselines) add(*step.of);
  return versions;
}

// Keys of the recipes that differ, those of the measuring left out.
std::set<std::string> differing_keys(const std::vector<Machine>& machines) {
  std::set<std::string> keys;
  const RunRecord* first = nullptr;
  for (const Machine& m : machines)
    for (const RunRecord* r : m.passed) {
      if (!first) first = r;
      for (const Difference& d : differences(*first, *r, {"seed"})) keys.insert(d.key);
    }
  return keys;
}

void add_cautions(const std::vector<Machine>& machines, std::vector<std::string>& cautions) {
  std::set<std::string> untrained, unmeasured, left_out, other_recipes, versions, by_machine, ranks;
  for (const Machine& m : machines) {
    if (m.passed.empty()) untrained.insert(m.name);
    if (m.ceilings.empty()) unmeasured.insert(m.name);
    if (m.left_out > 0) left_out.insert(std::to_string(m.left_out) + " of " + m.name);
    if (m.other_recipes > 0) other_recipes.insert(std::to_string(m.other_recipes) + " of " + m.name);
    ranks.insert(std::to_string(m.ranks));
    const std::set<std::string> its = versions_of(m);
    versions.insert(its.begin(), its.end());
    by_machine.insert(m.name + ": " + joined(its));
  }
  if (!untrained.empty())
    cautions.push_back("No run reached the target: " + joined(untrained, "; ") + ". Run ttt_maskrcnn there.");
  if (!unmeasured.empty()) cautions.push_back("No ceilings: " + joined(unmeasured, "; ") + ". Run roofline there.");
  if (!left_out.empty())
    cautions.push_back("Results with another number of ranks do not count: " + joined(left_out, "; ") + ".");
  if (!other_recipes.empty())
    cautions.push_back("Runs with another recipe do not count: " + joined(other_recipes, "; ") + ".");
  if (ranks.size() > 1) cautions.push_back("The numbers of ranks differ: " + joined(ranks) + ".");
  if (versions.size() > 1) cautions.push_back("Commits or days differ. " + joined(by_machine, "; ") + ".");
  const std::set<std::string> keys = differing_keys(machines);
  if (!keys.empty()) cautions.push_back("The recipes differ in " + joined(keys) + ".");
}

Cell median_cell(const Machine& m, double scale, const char* unit, double (*value)(const RunRecord&)) {
  std::vector<double> values;
  for (const RunRecord* r : m.passed)
    if (const double x = value(*r); x > 0) values.push_back(scale * x);
  if (values.empty()) return "-";
  Cell cell = centre_cell("%.1f", centre(values));
  cell.unit = unit;
  return cell;
}

Cell peak_cell(const result::Peak* peak) {
  if (!peak) return "-";
  const double rate = median(peak->samples);
  return {fixed("%.3g G", rate / 1e9) + peak->unit, rate, peak->unit};
}

Table table_of(const std::vector<Machine>& machines) {
  Table t{.header = {"machine", "ranks", "runs", "time to target [s]", "time to crossing [s]",
              "images/s of a step, median", "time of a step, median [ms]", "baseline step [ms]"},
      .right = {false}};
  std::vector<std::string> peaks;
  for (const Machine& m : machines)
    for (const Ceiling& c : m.ceilings)
      if (std::find(peaks.begin(), peaks.end(), c.peak->name) == peaks.end()) peaks.push_back(c.peak->name);
  for (const std::string& name : peaks) t.header.add_data(spaced(name));
  t.header.add("step time with bf16");
  t.right.resize(t.header.names().size(), true);
  for (const Machine& m : machines) {
    Row row = {m.name, whole(m.ranks), whole(static_cast<std::int64_t>(m.passed.size())),
        median_cell(m, 1, "", [](const RunRecord& r) { return time_factors(r).time_to_target_s; }),
        median_cell(m, 1, "", [](const RunRecord& r) { return time_factors(r).time_to_crossing_s; }),
        median_cell(m, 1, "",
            [](const RunRecord& r) {
              const std::vector<double> rates = step_rates(r);
              return rates.empty() ? 0 : median(rates);
            }),
        median_cell(m, 1e3, "", [](const RunRecord& r) { return r.steps.size() ? median(r.steps.step_s) : 0; }),
        m.baseline_s > 0 ? number("%.1f", 1e3 * m.baseline_s) : Cell("-")};
    for (const std::string& name : peaks) row.push_back(peak_cell(m.peak(name)));
    row.push_back(m.bf16 ? Cell(fixed("%+.1f %%", 100 * m.bf16->estimate), 100 * m.bf16->estimate, "%") : Cell("-"));
    t.rows.push_back(std::move(row));
  }
  return t;
}

std::function<int()> declare_machines(CLI::App& command) {
  const auto a = std::make_shared<FilesArguments>();
  add_files(command, *a, "Result files of two or more machines, and folders of them");
  add_output_options(command, a->output);
  command.footer(
      "Example: report machines results\n         report machines mine theirs --label \"mine=EPYC 7B13, 2 cores\"");
  return [a] {
    const Runs all = read_runs(*a);
    print(machines(all.runs), a->output);
    return all.exit_code;
  };
}

}  // namespace

std::string speed_text(const std::string& first, const std::string& other, const Factor& speed) {
  if (speed.times.estimate < 1) {
    const Interval& t = speed.times;
    return speed_text(other, first, {speed.name, {1 / t.estimate, 1 / t.high, 1 / t.low}, speed.is_interval});
  }
  const std::string times = fixed("%.2f times as fast", speed.times.estimate);
  return first + (is_shown(speed) ? " is " : " is not shown to be faster: it is ") + times + " as " + other +
         fixed(" (%.2f to %.2f, ", speed.times.low, speed.times.high) +
         (speed.is_interval ? "95 % interval)" : "least to greatest ratio)");
}

void add_sentences(MachineFacts& facts) {
  for (const MachinePair& pair : facts.pairs) {
    const Machine &a = facts.machines[pair.first], &b = facts.machines[pair.other];
    facts.answers.push_back(answer(a, b, pair));
    if (const std::string text = disagreement(a, b, pair); !text.empty()) facts.disagreements.push_back(text);
    const std::string to = facts.pairs.size() > 1 ? " to " + b.name : "";
    add_reasons(to, pair, facts.reasons);
    add_other_peaks(to, pair, facts.cautions);
  }
  for (const Machine& m : facts.machines)
    facts.disagreements.insert(facts.disagreements.end(), m.disagreements.begin(), m.disagreements.end());
  add_cautions(facts.machines, facts.cautions);
}

Document machines(const std::vector<NamedRun>& runs) {
  const MachineFacts facts = machine_facts(runs);
  if (facts.machines.size() < 2)
    throw UsageError("The results are of " +
                     (facts.machines.empty() ? "no machine" : "one machine alone, " + facts.machines[0].name) +
                     ". Name results of two, or tell two of one name apart with --label FOLDER=NAME.");
  Document d;
  for (const std::string& text : facts.answers) d.push_back(Paragraph{text});
  for (const std::string& text : facts.disagreements) d.push_back(Paragraph{"! " + text});
  d.push_back(Heading{"Machines, the fastest first"});
  d.push_back(table_of(facts.machines));
  for (const std::string& text : facts.reasons) d.push_back(Paragraph{text});
  for (const std::string& text : facts.cautions) d.push_back(Paragraph{"! " + text});
  return d;
}

const Command kMachines = {
    "machines", "Which of several machines is faster, how many times, by which work and why", declare_machines};

}  // namespace ttt::reports
