// Linux' lists of CPUs: "0-3,8".
#pragma once

#include <set>
#include <string>

namespace ttt::preflight {

using CpuSet = std::set<int>;

// Throws DataError for a text of another form.
CpuSet parse_cpu_list(const std::string& text);
std::string cpu_list(const CpuSet& cpus);

bool intersect(const CpuSet& a, const CpuSet& b);

}  // namespace ttt::preflight
