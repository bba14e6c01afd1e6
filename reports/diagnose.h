// Why a run took longer than it could have, of what its result holds.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/compare.h"

namespace ttt::reports {

// Something that cost the run time, the dearest first.
struct Suspect {
  std::string id;        // of a rule of result/symptoms.h, or of a phase: "slow_reading"
  double cost_s = 0;     // of a step: by which it took longer than the reference's, or what it takes by itself
  std::string evidence;  // the numbers that name it
  std::string remedy, ablation;
};

struct Diagnosis {
  std::string reference;               // the fastest run of the same work on the same machine; empty: none is known
  std::size_t steps = 0;               // that both have
  double step_s = 0, reference_s = 0;  // means over those steps
  std::vector<Suspect> suspects;
};

// `others` may hold the run itself, which is no reference. Of two runs the first steps are compared that both have,
// without the first ten: steps take longer as a training goes on. Throws UsageError for a result without steps.
Diagnosis diagnose(const NamedRun& run, const std::vector<NamedRun>& others);

// "This run's steps are 61 % as fast as ...", the first suspect, and a table of all.
Document diagnosis(const NamedRun& run, const std::vector<NamedRun>& others);

}  // namespace ttt::reports
