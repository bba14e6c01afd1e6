// What `report machines` says and shows.
#include <algorithm>
#include <set>

#include "core/error.h"
#include "core/statistics.h"
#include "reports/command_line.h"
#include "reports/groups.h"
#include "reports/machines.h"
#include "reports/numbers.h"
#include "reports/run_metrics.h"
#include "reports/run_names.h"

namespace ttt::reports {
namespace {

using result::RunRecord;

template <class Texts> std::string joined(const Texts& texts, const char* between = ", ") {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : between) + text;
  return all;
}

std::string spaced(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

bool is_shown(const Factor& f) { return f.times.low > 1 || f.times.high < 1; }

std::string answer(const Machine& a, const Machine& b, const MachinePair& pair) {
  if (!pair.speed) return a.name + " and " + b.name + " did no work in common: how their speeds compare is not known.";
  const Factor& f = *pair.speed;
  const std::string ends = fixed("%.2f to %.2f", f.times.low, f.times.high) +
                           (f.is_interval ? ", 95 % interval" : ", least to greatest ratio");
  const std::string times = fixed("%.2f times as fast", f.times.estimate);
  return (is_shown(f) ? a.name + " is " + times + " as " + b.name
                      : "No difference between " + a.name + " and " + b.name + " is shown: the first is " + times) +
         " (" + ends + "), by " + pair.work + ".";
}

std::string times_text(const Factor& f) { return spaced(f.name) + fixed(" %.2fx", f.times.estimate); }

void add_reasons(const std::string& to, const MachinePair& pair, std::vector<std::string>& reasons) {
  const auto add = [&](const std::string& what, const std::vector<std::string>& parts) {
    if (!parts.empty()) reasons.push_back(what + to + ": " + joined(parts) + ".");
  };
  std::vector<std::string> factors, phases, peaks, alike;
  for (const Factor& f : pair.factors) factors.push_back(times_text(f));
  for (const Factor& f : pair.phases)
    if (f.share >= 0.05 && is_shown(*pair.speed))
      phases.push_back(spaced(f.name) + fixed(" %.0f %% (%.2fx)", 100 * f.share, f.times.estimate));
  for (const Factor& f : pair.peaks) (is_shown(f) ? peaks : alike).push_back(times_text(f));
  add("Factors of time to target", factors);
  add("Of the difference of a step's time", phases);
  add("Largest differences", peaks);
  add("No difference shown", alike);
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
      for (const Difference& d : differences(*first, *r, {"seed"}))
        if (!d.unknown) keys.insert(d.key);
    }
  return keys;
}

void add_cautions(const std::vector<Machine>& machines, std::vector<std::string>& cautions) {
  std::set<std::string> untrained, unmeasured, left_out, versions, by_machine;
  for (const Machine& m : machines) {
    if (m.passed.empty()) untrained.insert(m.name);
    if (m.peaks.empty()) unmeasured.insert(m.name);
    if (m.left_out > 0) left_out.insert(std::to_string(m.left_out) + " of " + m.name);
    const std::set<std::string> its = versions_of(m);
    versions.insert(its.begin(), its.end());
    by_machine.insert(m.name + ": " + joined(its));
  }
  if (!untrained.empty())
    cautions.push_back("No run reached the target: " + joined(untrained, "; ") + ". Run ttt_maskrcnn there.");
  if (!unmeasured.empty()) cautions.push_back("No ceilings: " + joined(unmeasured, "; ") + ". Run roofline there.");
  if (!left_out.empty())
    cautions.push_back("Results with another number of ranks do not count: " + joined(left_out, "; ") + ".");
  if (versions.size() > 1) cautions.push_back("Commits or days differ. " + joined(by_machine, "; ") + ".");
  const std::set<std::string> keys = differing_keys(machines);
  if (!keys.empty()) cautions.push_back("The recipes differ in " + joined(keys) + ".");
}

// Training steps of one program take the same share of both works: what differs is a machine between two days.
void add_disagreement(const Machine& a, const Machine& b, const MachinePair& pair, std::vector<std::string>& cautions) {
  if (!pair.disagrees()) return;
  const Interval &runs = pair.speed->times, &steps = pair.baselines->times;
  cautions.push_back("By the baselines of ablations " + a.name + " is " + fixed("%.2f", steps.estimate) +
                     " times as fast as " + b.name + " (" + fixed("%.2f", steps.low) + " to " +
                     fixed("%.2f", steps.high) + "), by time to target " + fixed("%.2f", runs.estimate) +
                     ". One of them changed between its results, or another machine has its name. Run ttt_maskrcnn "
                     "and ablate on one day, or tell them apart with --label.");
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
  Table t{.header = {"machine", "ranks", "runs", "time to target [s]", "images/s of a step, median",
              "time of a step, median [ms]", "baseline step [ms]"},
      .right = {false}};
  std::vector<std::string> peaks;
  for (const Machine& m : machines)
    for (const result::Peak* p : m.peaks)
      if (std::find(peaks.begin(), peaks.end(), p->name) == peaks.end()) peaks.push_back(p->name);
  for (const std::string& name : peaks) t.header.add_data(spaced(name));
  t.header.add("step time with bf16");
  t.right.resize(t.header.names().size(), true);
  for (const Machine& m : machines) {
    Row row = {m.name, whole(m.ranks), whole(static_cast<std::int64_t>(m.passed.size())),
        median_cell(m, 1, "", [](const RunRecord& r) { return time_factors(r).time_to_target_s; }),
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
  struct Arguments : FilesArguments {
    std::vector<std::string> labels;
  };
  const auto a = std::make_shared<Arguments>();
  command.add_option("files", a->files, "Result files of two or more machines, and folders of them")->required();
  command
      .add_option("--label", a->labels,
          "FILE=NAME or FOLDER=NAME: what to call the machine whose results these are; repeat it for several")
      ->allow_extra_args(false);
  add_output_options(command, a->output);
  command.footer(
      "Example: report machines results\n         report machines mine theirs --label \"mine=EPYC 7B13, 2 cores\"");
  return [a] {
    const Inputs all = read_inputs(a->files);
    name_left_out(all);
    std::vector<NamedRun> runs;
    for (const ResultFile& r : all.results) runs.push_back(r.run);
    label_machines(runs, a->labels);
    print(machines(runs), a->output);
    return all.exit_code();
  };
}

}  // namespace

void add_sentences(MachineFacts& facts) {
  for (const MachinePair& pair : facts.pairs) {
    const Machine &a = facts.machines[pair.first], &b = facts.machines[pair.other];
    facts.answers.push_back(answer(a, b, pair));
    add_reasons(facts.pairs.size() > 1 ? " to " + b.name : "", pair, facts.reasons);
    add_disagreement(a, b, pair, facts.cautions);
  }
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
  d.push_back(Heading{"Machines, the fastest first"});
  d.push_back(table_of(facts.machines));
  for (const std::string& text : facts.reasons) d.push_back(Paragraph{text});
  for (const std::string& text : facts.cautions) d.push_back(Paragraph{"! " + text});
  return d;
}

const Command kMachines = {
    "machines", "Which of several machines is faster, how many times, by which work and why", declare_machines};

}  // namespace ttt::reports
