// Which of several machines is faster, how many times, by which work and why.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "reports/compare.h"
#include "reports/document.h"

namespace ttt::reports {

// How many times as fast, as much or as few the first of two machines is: above 1 in its favour.
struct Factor {
  std::string name;  // "time to target", "backward", "memory_copy"
  Interval times;
  bool is_interval = false;  // of 95 %; else the ends are the least and the greatest single ratio
  double share = 0;          // of a phase: of the sum of the changes of all phases
};

// A whole training step that an ablation timed without its technique.
struct BaselineStep {
  double step_s = 0;                      // median of the samples
  std::map<std::string, double> phase_s;  // means
  const result::RunRecord* of = nullptr;
};

// What the results of one machine at one number of ranks say.
struct Machine {
  std::string name;  // "AMD EPYC, 2 cores"
  std::int64_t ranks = 0;
  std::vector<const result::RunRecord*> passed;   // runs to the target that most machines share
  std::map<std::string, BaselineStep> baselines;  // by ablation, setting and the baseline's name
  std::vector<const result::Peak*> peaks;
  double baseline_s = 0;         // geometric mean of the baselines that all machines with baselines timed; 0: none
  std::optional<Interval> bf16;  // relative change of the time of a step
  std::size_t left_out = 0;      // results with another number of ranks

  const result::Peak* peak(const std::string& peak_name) const;  // null where it was not measured
};

// The fastest machine against another one.
struct MachinePair {
  std::size_t first = 0, other = 0;  // of MachineFacts::machines
  std::optional<Factor> speed;       // nothing where they did no work in common
  std::string work;                  // by which it was found
  std::optional<Factor> baselines;   // by the baselines of ablations, where speed is by time to target

  // The two kinds of work say different things: one of the machines was not the same on both days.
  bool disagrees() const;
  // of time to target; of a step, the largest share of the difference first; of the ceilings, the largest first
  std::vector<Factor> factors, phases, peaks;
};

struct MachineFacts {
  std::vector<Machine> machines;   // the fastest first
  std::vector<MachinePair> pairs;  // the first with each of the others
  // Sentences: who is how many times as fast; why; what is missing and what makes numbers less than comparable.
  std::vector<std::string> answers, reasons, cautions;
};

// The facts point into `runs`. METRICS.md has the method.
MachineFacts machine_facts(const std::vector<NamedRun>& runs);

// Fills the sentences from the numbers.
void add_sentences(MachineFacts& facts);

// The answer, a table with a row for each machine, why, and what is missing. Throws UsageError for fewer than two
// machines.
Document machines(const std::vector<NamedRun>& runs);

}  // namespace ttt::reports
