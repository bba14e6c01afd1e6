// The effect of techniques on convergence: distributions of epochs to target over seeds.
#pragma once

#include "reports/document.h"
#include "result/run_record.h"

namespace ttt::reports {

// The blocks of one result's trainings; nothing where it has none.
Document convergence_blocks(const result::RunRecord& record);

}  // namespace ttt::reports
