// The last lines of `ablate`: what was found.
#pragma once

#include <string>

#include "result/techniques.h"

namespace ttt::ablations {

// A line for each row with a difference, the fastest first, then the remarks, the advice last.
std::string ending(const result::RunRecord& record);

}  // namespace ttt::ablations
