// The effect of techniques on convergence: distributions of epochs to target over seeds.
#pragma once

#include "reports/document.h"
#include "result/techniques.h"

namespace ttt::reports {

// The blocks of one result's trainings; nothing where it has none.
Document convergence_blocks(const result::RunRecord& record);

// A line for each variant that a baseline was trained beside.
std::vector<result::Remark> convergence_remarks(const result::RunRecord& record);

}  // namespace ttt::reports
