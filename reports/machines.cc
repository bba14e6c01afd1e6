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

// Runs to one target with one recipe.
struct Work {
  const RunRecord* first = nullptr;
  std::set<std::string> machines;
  std::size_t runs = 0;
  std::string newest;  // start
  bool has(const RunRecord& r) const {
    return r.verdict == result::Verdict::kPassed && r.target && task_of(r) == task_of(*first) &&
           differences(*first, r, {"seed"}).empty();
  }
};

// What most machines did comes first: the task, then the recipe. Other tasks are left out.
std::vector<Work> works_of(const std::map<std::string, Records>& by_machine) {
  std::vector<Work> works;
  std::map<std::string, std::set<std::string>> machines_of;  // a task
  for (const auto& [name, records] : by_machine)
    for (const RunRecord* r : records) {
      if (r->verdict != result::Verdict::kPassed || !r->target) continue;
      auto work = std::find_if(works.begin(), works.end(), [&](const Work& w) { return w.has(*r); });
      if (work == works.end()) work = works.insert(work, Work{.first = r});
      work->machines.insert(name), ++work->runs;
      work->newest = std::max(work->newest, text_at(r->provenance, "started_at"));
      machines_of[task_of(*r)].insert(name);
    }
  const auto weight = [&](const Work& w) {
    return std::tuple(machines_of[task_of(*w.first)].size(), w.machines.size(), w.runs, w.newest);
  };
  std::stable_sort(works.begin(), works.end(), [&](const Work& a, const Work& b) { return weight(a) > weight(b); });
  std::erase_if(works,
      [&, task = works.empty() ? "" : task_of(*works[0].first)](const Work& w) { return task_of(*w.first) != task; });
  return works;
}

// "Alpha disagrees with itself: 20 training steps took 1.40 times as long on 2026-11-23 as on 2026-11-21 (...)".
void add_disagreement(
    Machine& m, const Factor& longer, const std::string& work, const std::string& day, const std::string& before) {
  constexpr double kNotable = 1.05;  // of the same host on two days; another host or a busy one differs by more
  const double times = std::max(longer.times.estimate, 1 / longer.times.estimate);
  if (!longer.is_interval || !is_shown(longer) || times < kNotable) return;
  m.disagreements.push_back(
      m.name + " disagrees with itself: " + work +
      fixed(" took %.2f times as long (%.2f to %.2f) on ", longer.times.estimate, longer.times.low, longer.times.high) +
      day + " as on " + before +
      ". That usually means another commit, another host of that name, or a busy one. Measure "
      "again, all machines on one day.");
}

// Takes the record's baselines for the newest.
void add_baselines(const RunRecord& r, Machine& m) {
  std::map<std::string, std::vector<double>> logs;  // by day
  for (Baseline& b : baselines_of(r)) {
    if (!b.whole_step) continue;
    BaselineStep& newest = m.baselines[b.fullname];
    if (newest.of && day_of(*newest.of) != day_of(r))
      logs[day_of(*newest.of)].push_back(std::log(b.median_s / newest.median_s));
    newest = {std::move(b), &r};
  }
  for (const auto& [day, of_day] : logs)
    add_disagreement(
        m, over_pairs("", of_day), std::to_string(of_day.size()) + " baselines of ablations", day_of(r), day);
}

// Of the first work that the machine did.
void add_runs(const Records& records, const std::vector<Work>& works, Machine& m) {
  std::map<std::string, std::vector<double>> seconds;  // by day
  for (const Work& work : works)
    for (const RunRecord* r : records) {
      if (!work.has(*r)) continue;
      if (!m.passed.empty() && !work.has(*m.passed[0])) {
        ++m.other_recipes;
        continue;
      }
      m.passed.push_back(r);
      seconds[day_of(*r)].push_back(time_factors(*r).time_to_target_s);
    }
  for (auto day = seconds.begin(); day != seconds.end() && std::next(day) != seconds.end(); ++day)
    add_disagreement(m, of_samples("", day->second, std::next(day)->second), "runs to the target",
        std::next(day)->first, day->first);
}

// Of records in the order of their start: what is newer counts.
Machine machine_of(
    const std::string& name, std::int64_t ranks, const Records& records, const std::vector<Work>& works) {
  Machine m{.name = name, .ranks = ranks};
  add_runs(records, works, m);
  for (const RunRecord* r : records) {
    if (r->verdict != result::Verdict::kPassed) continue;
    add_baselines(*r, m);
    for (const result::Comparison& c : r->comparisons)
      if (c.ablation == "precision" && c.variant == "bf16" && measured_effect(c)) m.bf16 = measured_effect(c);
    for (const result::Peak& p : r->peaks) m.ceilings.push_back({&p, r});
  }
  return m;
}

// Each machine at one number of ranks: where most others have runs of the same kind, and then where it says most.
std::vector<Machine> best_measured(const std::map<std::string, Records>& by_machine, const std::vector<Work>& works) {
  std::map<std::string, std::vector<Machine>> all;
  std::map<std::int64_t, std::pair<std::size_t, std::size_t>> shared;  // machines with runs, and with baselines
  for (const auto& [name, records] : by_machine) {
    std::map<std::int64_t, Records> by_ranks;
    for (const RunRecord* r : records) by_ranks[ranks_of(*r)].push_back(r);
    for (auto& [ranks, of_ranks] : by_ranks) {
      std::stable_sort(of_ranks.begin(), of_ranks.end(), [](const RunRecord* a, const RunRecord* b) {
        return text_at(a->provenance, "started_at") < text_at(b->provenance, "started_at");
      });
      Machine& m = all[name].emplace_back(machine_of(name, ranks, of_ranks, works));
      m.left_out = records.size() - of_ranks.size();
      shared[ranks].first += !m.passed.empty(), shared[ranks].second += !m.baselines.empty();
    }
  }
  const auto weight = [&](const Machine& m) {
    const auto [runs, baselines] = shared[m.ranks];
    return std::tuple(
        !m.passed.empty(), m.passed.empty() ? baselines : runs, m.passed.size(), m.baselines.size(), m.ceilings.size());
  };
  std::vector<Machine> best;
  for (auto& [name, machines] : all)
    best.push_back(std::move(*std::max_element(
        machines.begin(), machines.end(), [&](const Machine& a, const Machine& b) { return weight(a) < weight(b); })));
  return best;
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

Factor speed_by_baselines(const Machine& a, const Machine& b, const std::vector<std::string>& names) {
  std::vector<double> steps;
  for (const std::string& name : names)
    steps.push_back(std::log(b.baselines.at(name).median_s / a.baselines.at(name).median_s));
  return over_pairs("time of a step", steps);
}

void compare_runs(const Machine& a, const Machine& b, MachinePair& pair) {
  const auto add = [&](std::vector<Factor>& to, const std::string& name, const auto& value) -> Factor* {
    const std::vector<double> x = of_runs(a, value), y = of_runs(b, value);
    return x.empty() || y.empty() ? nullptr : &to.emplace_back(of_samples(name, x, y));
  };
  const auto member = [](double TimeFactors::*value) {
    return [value](const RunRecord& r) { return time_factors(r).*value; };
  };
  const auto crosses = [](const RunRecord* r) { return epochs_to_crossing(*r) > 0; };
  const bool crossing =
      std::all_of(a.passed.begin(), a.passed.end(), crosses) && std::all_of(b.passed.begin(), b.passed.end(), crosses);
  const std::string what = crossing ? "time to crossing" : "time to target";
  std::vector<Factor> speed;
  if (const Factor* f =
          add(speed, what, member(crossing ? &TimeFactors::time_to_crossing_s : &TimeFactors::time_to_target_s)))
    pair.speed = *f;
  pair.work = what + ", " + std::to_string(a.passed.size()) + " runs against " + std::to_string(b.passed.size());
  for (const RunRecord* r : a.passed) pair.days_of_first.insert(day_of(*r));
  for (const RunRecord* r : b.passed) pair.days_of_other.insert(day_of(*r));
  if (!pair.names.empty()) pair.by_baselines = speed_by_baselines(a, b, pair.names);
  if (crossing) add(pair.factors, "epochs to crossing", epochs_to_crossing);
  else add(pair.factors, "epochs to target", member(&TimeFactors::epochs));
  add(pair.factors, "time per epoch", member(&TimeFactors::epoch_s));
  add(pair.addends, "evaluation", member(&TimeFactors::evaluation_s));
  add(pair.addends, "start-up", member(&TimeFactors::startup_s));
  for (std::size_t i = 0; i < result::kPhaseNames.size(); ++i) {
    const auto phase = [&](const RunRecord& r) { return r.steps.size() ? mean(r.steps.phase_s[i]) : 0; };
    if (Factor* f = add(pair.phases, std::string(result::kPhaseNames[i]), phase))
      f->share = mean(of_runs(b, phase)) - mean(of_runs(a, phase));
  }
}

void compare_baselines(const Machine& a, const Machine& b, MachinePair& pair) {
  pair.speed = speed_by_baselines(a, b, pair.names);
  pair.work = std::to_string(pair.names.size()) + " training steps that both timed as baselines of ablations";
  for (const std::string& name : pair.names) {
    pair.days_of_first.insert(day_of(*a.baselines.at(name).of));
    pair.days_of_other.insert(day_of(*b.baselines.at(name).of));
  }
  for (const std::string_view phase : result::kPhaseNames) {
    std::vector<double> logs;
    double change = 0;
    for (const std::string& name : pair.names) {
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

void compare_peaks(const Machine& a, const Machine& b, MachinePair& pair) {
  std::set<std::string> names;
  for (const Ceiling& c : a.ceilings) names.insert(c.peak->name);
  for (const std::string& name : names) {
    const result::Peak *x = a.peak(name, pair.days_of_first), *y = b.peak(name, pair.days_of_other);
    const bool same_days = x && y;
    if (!same_days) x = a.peak(name), y = b.peak(name);
    if (y) (same_days ? pair.peaks : pair.other_peaks).push_back(of_samples(name, y->samples, x->samples));
  }
  for (auto* peaks : {&pair.peaks, &pair.other_peaks})
    std::stable_sort(peaks->begin(), peaks->end(),
        [](const Factor& f, const Factor& g) { return f.times.estimate > g.times.estimate; });
}

MachinePair compare_machines(const std::vector<Machine>& machines, std::size_t first, std::size_t other) {
  const Machine &a = machines[first], &b = machines[other];
  MachinePair pair{.first = first, .other = other, .names = common_baselines(a, b)};
  if (!a.passed.empty() && !b.passed.empty()) compare_runs(a, b, pair);
  else if (!pair.names.empty()) compare_baselines(a, b, pair);
  compare_peaks(a, b, pair);
  double change = 0;
  for (const Factor& f : pair.phases) change += f.share;
  for (Factor& f : pair.phases) f.share /= change;
  std::stable_sort(
      pair.phases.begin(), pair.phases.end(), [](const Factor& x, const Factor& y) { return x.share > y.share; });
  return pair;
}

// Of the baselines that every machine with baselines timed, with as many ranks.
void set_baseline_means(std::vector<Machine>& machines) {
  std::map<std::pair<std::string, std::int64_t>, std::vector<std::pair<Machine*, double>>> by_name;
  std::size_t with_baselines = 0;
  for (Machine& m : machines) {
    with_baselines += m.baselines.empty() ? 0 : 1;
    for (const auto& [name, step] : m.baselines) by_name[{name, m.ranks}].emplace_back(&m, std::log(step.median_s));
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

std::string day_of(const RunRecord& r) { return text_at(r.provenance, "started_at").substr(0, 10); }

bool is_shown(const Factor& f) { return f.times.low > 1 || f.times.high < 1; }

const result::Peak* Machine::peak(const std::string& peak_name, const Days& days) const {
  for (auto c = ceilings.rbegin(); c != ceilings.rend(); ++c)
    if (c->peak->name == peak_name && (days.empty() || days.contains(day_of(*c->of)))) return c->peak;
  return nullptr;
}

MachineFacts machine_facts(const std::vector<NamedRun>& runs) {
  std::map<std::string, Records> by_machine;
  for (const NamedRun& run : runs) by_machine[machine_text(run.record)].push_back(&run.record);
  MachineFacts facts{.machines = best_measured(by_machine, works_of(by_machine))};
  set_baseline_means(facts.machines);
  sort_by_speed(facts.machines);
  for (std::size_t i = 1; i < facts.machines.size(); ++i) {
    MachinePair pair = compare_machines(facts.machines, 0, i);
    const bool other_is_faster = pair.speed && pair.speed->times.estimate < 1;
    facts.pairs.push_back(other_is_faster ? compare_machines(facts.machines, i, 0) : std::move(pair));
  }
  add_sentences(facts);
  return facts;
}

}  // namespace ttt::reports
