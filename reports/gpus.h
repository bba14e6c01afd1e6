// Power, clocks, throttling and activity of a run's GPUs.
#pragma once

#include "reports/document.h"
#include "result/run_record.h"

namespace ttt::reports {

// Empty where nothing of GPUs was recorded.
Document gpu_blocks(const result::RunRecord& record);
// Of train.profile_steps: how busy each rank's device was, and the kernels of the most time on rank 0. Empty where
// there is no profile.
Document profile_blocks(const result::RunRecord& record);

}  // namespace ttt::reports
