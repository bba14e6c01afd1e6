// One run for people: the verdict, the factors of its time, its accuracy, where the step's time went, what it stood on.
#pragma once

#include "reports/document.h"
#include "result/run_record.h"

namespace ttt::reports {

Document show_run(const result::RunRecord& record);

}  // namespace ttt::reports
