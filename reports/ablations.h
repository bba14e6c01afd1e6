// The effect of each technique: one row per comparison of an ablation.
#pragma once

#include <optional>
#include <vector>

#include "reports/compare.h"
#include "reports/document.h"
#include "result/techniques.h"

namespace ttt::reports {

// The blocks of one result's comparisons; nothing where it has none.
Document comparison_blocks(const result::RunRecord& record);

struct AblationOptions {
  bool details = false;           // every row with builds, promise, cause and counters
  std::vector<std::string> only;  // ablations by name, in details; empty: all
};
// The ranked rows of all results together, or in details each result under its system. Of several results every heading
// has the file's name. Throws UsageError for an ablation that none of the results has.
Document ablations(const std::vector<NamedRun>& runs, const AblationOptions& options = {});

// A phase and by how much it changed in a step, seconds.
struct PhaseChange {
  std::string phase;
  Interval change_s;
};
// What explains a difference that was shown: of the phases that were shown to change in its direction, the one that
// changed most, by an equal share or more. Nothing where there is none, or no difference.
std::optional<PhaseChange> cause(const result::Comparison& comparison);
// The phase's name, or in words why none is named; "" where nothing was measured.
std::string cause_text(const result::Comparison& comparison);

// The counters that differ by 5 % or more, largest change first, at most four, "page_faults 7.7 k -> 137".
std::string counters_text(const result::Comparison& comparison);

// What an interval of a change of time allows to say.
std::string finding_text(const Interval& change);

}  // namespace ttt::reports
