// The cost of a run's checkpoints, and the time that its interruptions lost.
#pragma once

#include "reports/document.h"
#include "result/run_record.h"

namespace ttt::reports {

// Empty for a run without checkpoints and interruptions.
Document checkpoint_blocks(const result::RunRecord& record);

}  // namespace ttt::reports
