// Timeline of a run's threads (train.trace_steps): as numbers, and as a file for trace viewers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/compare.h"
#include "reports/document.h"
#include "result/run_record.h"

namespace ttt::reports {

// One rank's communication of gradients against the phases of its steps. Seconds in all; METRICS.md has the
// definitions.
struct Overlap {
  std::int64_t rank = 0, steps = 0;
  std::size_t all_reduces = 0;  // none: communication was not seen, and what is said of it here is unknown, not zero
  double step_s = 0, communication_s = 0;
  // they add up to communication_s
  double behind_backward_s = 0, behind_data_wait_s = 0, exposed_s = 0, elsewhere_s = 0;
  // of communication_s: until the last rank had come; nothing where ranks cannot be compared
  std::optional<double> late_ranks_s;
  double comm_exposed_s = 0;  // the phase, with what it waits for beside the all-reduces
};
std::vector<Overlap> overlaps(const result::TraceRecord& trace);

// Why a result has no trace, and what to do about it; "" where it has one.
std::string why_no_trace(const NamedRun& run);

// Of runs with a trace; each one's headings have its name.
Document timeline(const std::vector<NamedRun>& runs);

// Of runs with a trace: Chrome's trace event format ("JSON object format"), which Perfetto and chrome://tracing open: a
// process for each rank, a thread for each lane.
std::string chrome_trace(const std::vector<NamedRun>& runs);

}  // namespace ttt::reports
