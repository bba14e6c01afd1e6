#include "reports/machines.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <tuple>

#include "reports/ablations.h"
#include "reports/groups.h"
#include "reports/numbers.h"
#include "reports/run_metrics.h"
#include "reports/run_names.h"

namespace ttt::reports {
namespace {

using result::RunRecord;
using Records = std::vector<const RunRecord*>;

std::vector<double> logarithms(std::vector<double> values) {
  for (double& v : values) v = std::log(v);
  return values;
}

Interval exponential(const Interval& i) { return {std::exp(i.estimate), std::exp(i.low), std::exp(i.high)}; }

// The estimate with its interval, or with the least and the greatest where samples are too few for one.
Factor factor(std::string name, const std::optional<Interval>& interval, double estimate, std::vector<double> logs) {
  const auto [least, most] = std::minmax_element(logs.begin(), logs.end());
  return {std::move(name), exponential(interval.value_or(Interval{estimate, *least, *most})), interval.has_value()};
}

// By how much times of `first` are shorter than those of `other`, samples that have nothing to do with each other.
Factor of_samples(const std::string& name, const std::vector<double>& first, const std::vector<double>& other) {
  std::vector<double> ratios;
  for (const double b : other)
    for (const double a : first) ratios.push_back(std::log(b / a));
  return factor(name, rank_sum_interval(logarithms(first), logarithms(other)), median(ratios), ratios);
}

// The same of pairs, each the logarithm of its ratio.
Factor over_pairs(const std::string& name, const std::vector<double>& logs) {
  return factor(name, signed_rank_interval(logs), hodges_lehmann(logs), logs);
}

// Records are comparable where they train with the same images to the same accuracy.
std::string task_of(const RunRecord& r) {
  return r.target ? result::metrics_text(*r.target, 6) + text_at(r.data, "train_sha256") : "";
}

// The task of which most machines have a run that passed.
std::string shared_task(const std::map<std::string, Records>& by_machine) {
  std::map<std::string, std::set<std::string>> machines_of;
  for (const auto& [name, records] : by_machine)
    for (const RunRecord* r : records)
      if (r->verdict == result::Verdict::kPassed && r->target) machines_of[task_of(*r)].insert(name);
  const auto most = std::max_element(machines_of.begin(), machines_of.end(),
      [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  return most == machines_of.end() ? "" : most->first;
}

void add_baselines(const RunRecord& r, Machine& m) {
  std::map<std::string, std::vector<const result::Comparison*>> by_name;
  for (const result::Comparison& c : r.comparisons)
    if (c.status == "measured" && is_whole_step(c) && c.samples.size() > 0)
      by_name[c.ablation + (c.setting.empty() ? "" : ", " + c.setting) + ": " + c.baseline].push_back(&c);
  for (const auto& [name, comparisons] : by_name) {
    BaselineStep step{.of = &r};
    std::vector<double> samples;
    for (const result::Comparison* c : comparisons) {
      samples.insert(samples.end(), c->samples.baseline_s.begin(), c->samples.baseline_s.end());
      for (const auto& [phase, sides] : c->phases.items())
        step.phase_s[phase] += sides[0].get<double>() / static_cast<double>(comparisons.size());
    }
    step.step_s = median(samples);
    m.baselines[name] = std::move(step);
  }
  for (const result::Comparison& c : r.comparisons)
    if (c.ablation == "precision" && c.variant == "bf16" && measured_effect(c)) m.bf16 = measured_effect(c);
}

// Of records in the order of their start: what is newer counts.
Machine machine_of(const std::string& name, std::int64_t ranks, const Records& records, const std::string& task) {
  Machine m{.name = name, .ranks = ranks};
  for (const RunRecord* r : records) {
    if (r->verdict != result::Verdict::kPassed) continue;
    if (r->target && task_of(*r) == task) m.passed.push_back(r);
    add_baselines(*r, m);
    for (const result::Peak& p : r->peaks) {
      const auto same = [&](const result::Peak* x) { return x->name == p.name; };
      if (const auto it = std::find_if(m.peaks.begin(), m.peaks.end(), same); it != m.peaks.end()) *it = &p;
      else m.peaks.push_back(&p);
    }
  }
  return m;
}

// At the number of ranks that says most: with the most runs that passed, then with the most baselines and peaks.
Machine best_measured(const std::string& name, const Records& records, const std::string& task) {
  std::map<std::int64_t, Records> by_ranks;
  for (const RunRecord* r : records) by_ranks[ranks_of(*r)].push_back(r);
  std::optional<Machine> best;
  const auto weight = [](const Machine& m) { return std::tuple(m.passed.size(), m.baselines.size(), m.peaks.size()); };
  for (auto& [ranks, of_ranks] : by_ranks) {
    std::stable_sort(of_ranks.begin(), of_ranks.end(), [](const RunRecord* a, const RunRecord* b) {
      return text_at(a->provenance, "started_at") < text_at(b->provenance, "started_at");
    });
    Machine m = machine_of(name, ranks, of_ranks, task);
    m.left_out = records.size() - of_ranks.size();
    if (!best || weight(m) > weight(*best)) best = std::move(m);
  }
  return std::move(*best);
}

std::vector<double> of_runs(const Machine& m, const std::function<double(const RunRecord&)>& value) {
  std::vector<double> values;
  for (const RunRecord* r : m.passed)
    if (const double v = value(*r); v > 0) values.push_back(v);
  return values;
}

double mean(const std::vector<double>& values) { return sum(values) / static_cast<double>(values.size()); }

// Keys of the baselines that both timed with as many ranks.
std::vector<std::string> common_baselines(const Machine& a, const Machine& b) {
  std::vector<std::string> names;
  for (const auto& [name, step] : a.baselines)
    if (a.ranks == b.ranks && b.baselines.contains(name)) names.push_back(name);
  return names;
}

void compare_runs(const Machine& a, const Machine& b, MachinePair& pair) {
  const auto add = [&](std::vector<Factor>& to, const std::string& name, const auto& value) -> Factor* {
    const std::vector<double> x = of_runs(a, value), y = of_runs(b, value);
    return x.empty() || y.empty() ? nullptr : &to.emplace_back(of_samples(name, x, y));
  };
  const auto member = [](double TimeFactors::*value) {
    return [value](const RunRecord& r) { return time_factors(r).*value; };
  };
  std::vector<Factor> speed;
  if (const Factor* f = add(speed, "time to target", member(&TimeFactors::time_to_target_s))) pair.speed = *f;
  pair.work = "time to target, " + std::to_string(a.passed.size()) + " runs against " + std::to_string(b.passed.size());
  add(pair.factors, "epochs to target", member(&TimeFactors::epochs));
  add(pair.factors, "time per epoch", member(&TimeFactors::epoch_s));
  add(pair.factors, "evaluation", member(&TimeFactors::evaluation_s));
  add(pair.factors, "start-up", member(&TimeFactors::startup_s));
  for (std::size_t i = 0; i < result::kPhaseNames.size(); ++i) {
    const auto phase = [&](const RunRecord& r) { return r.steps.size() ? mean(r.steps.phase_s[i]) : 0; };
    if (Factor* f = add(pair.phases, std::string(result::kPhaseNames[i]), phase))
      f->share = mean(of_runs(b, phase)) - mean(of_runs(a, phase));
  }
}

Factor by_baselines(const Machine& a, const Machine& b, const std::vector<std::string>& names) {
  std::vector<double> steps;
  for (const std::string& name : names)
    steps.push_back(std::log(b.baselines.at(name).step_s / a.baselines.at(name).step_s));
  return over_pairs("time of a step", steps);
}

void compare_baselines(const Machine& a, const Machine& b, const std::vector<std::string>& names, MachinePair& pair) {
  pair.speed = by_baselines(a, b, names);
  pair.work = std::to_string(names.size()) + " training steps that both timed as baselines of ablations";
  for (const std::string_view phase : result::kPhaseNames) {
    std::vector<double> logs;
    double change = 0;
    for (const std::string& name : names) {
      const auto &x = a.baselines.at(name).phase_s, &y = b.baselines.at(name).phase_s;
      const auto i = x.find(std::string(phase)), j = y.find(std::string(phase));
      if (i == x.end() || j == y.end() || i->second <= 0 || j->second <= 0) continue;
      logs.push_back(std::log(j->second / i->second)), change += j->second - i->second;
    }
    if (logs.empty()) continue;
    pair.phases.push_back(over_pairs(std::string(phase), logs));
    pair.phases.back().share = change;
  }
}

MachinePair compare_machines(const std::vector<Machine>& machines, std::size_t first, std::size_t other) {
  const Machine &a = machines[first], &b = machines[other];
  MachinePair pair{.first = first, .other = other};
  const std::vector<std::string> names = common_baselines(a, b);
  if (!a.passed.empty() && !b.passed.empty()) {
    compare_runs(a, b, pair);
    if (!names.empty()) pair.baselines = by_baselines(a, b, names);
  } else if (!names.empty()) {
    compare_baselines(a, b, names, pair);
  }
  for (const result::Peak* p : a.peaks)
    if (const result::Peak* other_peak = b.peak(p->name))
      pair.peaks.push_back(of_samples(p->name, other_peak->samples, p->samples));
  double change = 0;
  for (const Factor& f : pair.phases) change += f.share;
  for (Factor& f : pair.phases) f.share /= change;
  std::stable_sort(
      pair.phases.begin(), pair.phases.end(), [](const Factor& x, const Factor& y) { return x.share > y.share; });
  std::stable_sort(pair.peaks.begin(), pair.peaks.end(),
      [](const Factor& x, const Factor& y) { return x.times.estimate > y.times.estimate; });
  return pair;
}

// Of the baselines that every machine with baselines timed, with as many ranks.
void set_baseline_means(std::vector<Machine>& machines) {
  std::map<std::pair<std::string, std::int64_t>, std::vector<std::pair<Machine*, double>>> by_name;
  std::size_t with_baselines = 0;
  for (Machine& m : machines) {
    with_baselines += m.baselines.empty() ? 0 : 1;
    for (const auto& [name, step] : m.baselines) by_name[{name, m.ranks}].emplace_back(&m, std::log(step.step_s));
  }
  std::map<Machine*, std::vector<double>> logs;
  for (const auto& [name, steps] : by_name)
    if (steps.size() == with_baselines)
      for (const auto& [machine, log] : steps) logs[machine].push_back(log);
  for (const auto& [machine, values] : logs) machine->baseline_s = std::exp(mean(values));
}

// By the mean logarithm of its speed against the others that it can be compared with; what compares with none is last.
void sort_by_speed(std::vector<Machine>& machines) {
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t i = 0; i < machines.size(); ++i) {
    std::vector<double> logs;
    for (std::size_t j = 0; j < machines.size(); ++j)
      if (const auto speed = i == j ? std::nullopt : compare_machines(machines, i, j).speed)
        logs.push_back(std::log(speed->times.estimate));
    order.emplace_back(logs.empty() ? -HUGE_VAL : mean(logs), i);
  }
  std::stable_sort(order.begin(), order.end(), [](const auto& x, const auto& y) { return x.first > y.first; });
  std::vector<Machine> sorted;
  for (const auto& [speed, i] : order) sorted.push_back(std::move(machines[i]));
  machines = std::move(sorted);
}

}  // namespace

bool MachinePair::disagrees() const {
  return speed && baselines && (speed->times.low > baselines->times.high || speed->times.high < baselines->times.low);
}

const result::Peak* Machine::peak(const std::string& peak_name) const {
  for (const result::Peak* p : peaks)
    if (p->name == peak_name) return p;
  return nullptr;
}

MachineFacts machine_facts(const std::vector<NamedRun>& runs) {
  std::map<std::string, Records> by_machine;
  for (const NamedRun& run : runs) by_machine[machine_text(run.record)].push_back(&run.record);
  const std::string task = shared_task(by_machine);
  MachineFacts facts;
  for (const auto& [name, records] : by_machine) facts.machines.push_back(best_measured(name, records, task));
  set_baseline_means(facts.machines);
  sort_by_speed(facts.machines);
  for (std::size_t i = 1; i < facts.machines.size(); ++i) facts.pairs.push_back(compare_machines(facts.machines, 0, i));
  add_sentences(facts);
  return facts;
}

}  // namespace ttt::reports
