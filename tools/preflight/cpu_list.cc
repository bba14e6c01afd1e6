#include "tools/preflight/cpu_list.h"

#include <algorithm>
#include <cctype>
#include <sstream>

#include "core/error.h"

namespace ttt::preflight {
namespace {

int number(const std::string& text, const std::string& whole) {
  const bool digits = !text.empty() && text.size() < 7 &&
                      std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c); });
  if (!digits) throw DataError("'" + whole + "' is no list of CPUs. A list looks like 0-3,8.");
  return std::stoi(text);
}

}  // namespace

CpuSet parse_cpu_list(const std::string& text) {
  CpuSet cpus;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    const std::size_t dash = part.find('-');
    const int first = number(part.substr(0, dash), text),
              last = dash == std::string::npos ? first : number(part.substr(dash + 1), text);
    for (int cpu = first; cpu <= last; ++cpu) cpus.insert(cpu);
  }
  return cpus;
}

std::string cpu_list(const CpuSet& cpus) {
  std::string text;
  for (auto at = cpus.begin(); at != cpus.end();) {
    const int first = *at;
    int last = first;
    while (++at != cpus.end() && *at == last + 1) ++last;
    text.append(text.empty() ? "" : ",").append(std::to_string(first));
    if (last > first) text.append("-").append(std::to_string(last));
  }
  return text;
}

bool intersect(const CpuSet& a, const CpuSet& b) {
  return std::any_of(a.begin(), a.end(), [&](int cpu) { return b.contains(cpu); });
}

}  // namespace ttt::preflight
