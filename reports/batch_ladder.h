// Ladders of batches: epochs to the target at each batch, and the batch from which they rise.
#pragma once

#include "reports/document.h"
#include "result/techniques.h"

namespace ttt::reports {

// The blocks of one result's ladders; nothing where it has none.
Document ladder_blocks(const result::RunRecord& record);

// A line for each ladder.
std::vector<result::Remark> ladder_remarks(const result::RunRecord& record);

}  // namespace ttt::reports
