// The findings of a preflight: one line per check, and the facts behind it.
#pragma once

#include "reports/document.h"
#include "result/run_record.h"

namespace ttt::reports {

// Nothing for a run without checks.
Document preflight_blocks(const result::RunRecord& record);

}  // namespace ttt::reports
