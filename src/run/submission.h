// Requirements of an MLPerf submission run beside its training: a drawn seed, checked rules, a log.
#pragma once

#include <memory>

#include "app/app.h"
#include "mlperf/log.h"
#include "run/assemble.h"
#include "run/resume.h"

namespace ttt {

// The recipe with its seed drawn from the system's entropy where mlperf.draw_seed asks for it, once for a run however
// often it is interrupted. It is the same on every rank, and written into the result.
train::Recipe with_drawn_seed(const train::Recipe& recipe, const Start& start, harness::RunContext& context);

// Checks the rules of mlperf.division (throws UsageError naming each broken one), writes into the result which are
// relaxed, and opens the log on rank 0. Null on other ranks, where no log is asked for, and of a run that is resumed:
// MLPerf's clock does not pause (with a division that is refused).
std::unique_ptr<train::MlperfLog> open_mlperf_log(const Run& run, const Start& start, harness::RunContext& context);

}  // namespace ttt
