// The phases of a run whose images or batches grow: what each size costs.
#pragma once

#include "reports/document.h"
#include "result/run_record.h"

namespace ttt::reports {

// Empty for a run without phases of their own size (train.phases.short_side, images_per_rank).
Document phase_blocks(const result::RunRecord& record);

}  // namespace ttt::reports
