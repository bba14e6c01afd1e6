// What the threads of a run did when (train.trace_steps): as numbers, and as a file for trace viewers.
#pragma once

#include <string>
#include <vector>

#include "reports/compare.h"
#include "reports/document.h"
#include "result/run_record.h"

namespace ttt::reports {

// One rank's communication of gradients against the phases of its steps. Seconds in all; METRICS.md has the definitions.
struct Overlap {
  std::int64_t rank = 0, steps = 0;
  double step_s = 0, communication_s = 0;
  double behind_backward_s = 0, behind_data_wait_s = 0, exposed_s = 0, elsewhere_s = 0;  // they add up to communication_s
  double late_ranks_s = 0;      // of communication_s: until the last rank had come; 0 where ranks cannot be compared
  double comm_exposed_s = 0;    // the phase, with what it waits for beside the all-reduces
};
std::vector<Overlap> overlaps(const result::TraceRecord& trace);

// Throws UsageError where the run recorded no trace.
Document timeline(const NamedRun& run);

// Chrome's trace event format ("JSON object format"), which Perfetto and chrome://tracing open: a process for each rank, a thread for each
// lane. Throws UsageError where no run has a trace.
std::string chrome_trace(const std::vector<NamedRun>& runs);

}  // namespace ttt::reports
