// What techniques are worth: one row for each comparison of an ablation.
#pragma once

#include <vector>

#include "reports/document.h"
#include "result/run_record.h"

namespace ttt::reports {

// The blocks of one result's comparisons; nothing where it has none.
Document comparison_blocks(const result::RunRecord& record);

// Several results, each under its system's name.
Document ablations(const std::vector<result::RunRecord>& records);

// The phase that explains most of a measured difference: "backward -3.10 ms of -3.42 ms"; "" where nothing was measured.
std::string cause_text(const result::Comparison& comparison);

}  // namespace ttt::reports
