// Which of several machines is faster, how many times, by which work and why.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "reports/compare.h"
#include "reports/document.h"
#include "reports/samples.h"

namespace ttt::reports {

// How many times as fast, as much or as few the first of two machines is: above 1 in its favour.
struct Factor {
  std::string name;  // "time to crossing", "backward", "memory_copy"
  Interval times;
  bool is_interval = false;  // of 95 %; else the ends are the least and the greatest single ratio
  double share = 0;          // of a phase: of the sum of the changes of all phases
};

// A whole training step that an ablation timed without its technique.
struct BaselineStep : Baseline {
  const result::RunRecord* of = nullptr;
};
struct Ceiling {
  const result::Peak* peak = nullptr;
  const result::RunRecord* of = nullptr;
};
using Days = std::set<std::string>;  // "2026-11-23"

// One machine at one number of ranks, as its results have it.
struct Machine {
  std::string name;  // "AMD EPYC, 2 cores"
  std::int64_t ranks = 0;
  std::vector<const result::RunRecord*> passed;   // runs to the target, with the recipe, that most machines share
  std::map<std::string, BaselineStep> baselines;  // the newest of each name
  std::vector<Ceiling> ceilings;                  // in the order of their start
  double baseline_s = 0;         // geometric mean of the baselines that all machines with baselines timed; 0: none
  std::optional<Interval> bf16;  // relative change of the time of a step
  std::size_t left_out = 0, other_recipes = 0;  // results with another number of ranks; runs with another recipe
  std::vector<std::string> disagreements;       // of its own results of the same work on two days

  // The newest of that name, of these days where there are any; null where it was not measured.
  const result::Peak* peak(const std::string& peak_name, const Days& days = {}) const;
};

// The fastest machine against another one; against a faster one, that one is the first.
struct MachinePair {
  std::size_t first = 0, other = 0;  // of MachineFacts::machines
  std::optional<Factor> speed;       // nothing where they did no work in common
  std::string work;                  // by which it was found
  Days days_of_first, days_of_other;
  std::optional<Factor> by_baselines;  // where `speed` is of runs to the target
  std::vector<std::string> names;      // of the baselines that both timed
  // Of the results behind `speed`: of time to target; of a step, the largest share of the difference first. Ceilings,
  // the largest first, were measured on the same days.
  std::vector<Factor> factors, addends;  // of the time of runs: the product of the factors, and what is added to it
  std::vector<Factor> phases, peaks;
  std::vector<Factor> other_peaks;  // of other days: they need not explain it
};

struct MachineFacts {
  std::vector<Machine> machines;   // the fastest first
  std::vector<MachinePair> pairs;  // the first with each of the others
  // Sentences: who is how many times as fast, which results say otherwise, why. Then what is missing, and what makes
  // numbers less than comparable.
  std::vector<std::string> answers, disagreements, reasons, cautions;
};

// The facts point into `runs`. METRICS.md has the method.
MachineFacts machine_facts(const std::vector<NamedRun>& runs);

// Fills the sentences from the numbers.
void add_sentences(MachineFacts& facts);
// "Alpha is 1.50 times as fast as Beta (1.42 to 1.54, 95 % interval)", the faster first; or that it is not
// shown to be.
std::string speed_text(const std::string& first, const std::string& other, const Factor& speed);
bool is_shown(const Factor& factor);  // 1 lies outside of its ends
std::string day_of(const result::RunRecord& record);

// The answer, a table with a row for each machine, why, and what is missing. Throws UsageError for fewer than two
// machines.
Document machines(const std::vector<NamedRun>& runs);

}  // namespace ttt::reports
