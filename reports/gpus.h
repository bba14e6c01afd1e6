// What a run's GPUs drew, at which clocks, and what slowed them down.
#pragma once

#include "reports/document.h"
#include "result/run_record.h"

namespace ttt::reports {

// Empty where nothing of GPUs was recorded.
Document gpu_blocks(const result::RunRecord& record);

}  // namespace ttt::reports
