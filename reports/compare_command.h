// The command line of `report compare`.
#pragma once

#include "reports/command_line.h"

namespace ttt::reports {

// Stands for `--` between groups of files, which the parser would take for the end of all options.
inline constexpr const char* kNextGroup = "\x1d";  // ASCII's group separator

std::function<int()> declare_compare(CLI::App& command);

}  // namespace ttt::reports
