#include "cuda/activity.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>

namespace ttt::cuda {
namespace {

constexpr std::size_t kLongestName = 160;

// "void a::b<int>(float*)" -> "a::b<int>"
std::string readable(const std::string& name) {
  if (!name.starts_with("_Z")) return name.substr(0, kLongestName);  // C's; the demangler would take "a" for a type
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> demangled(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free);
  std::string text = status == 0 ? demangled.get() : name;
  int depth = 0;  // of template arguments, which may hold parentheses too
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '<') ++depth;
    if (text[i] == '>') --depth;
    const bool nameless = text.compare(i, 21, "(anonymous namespace)") == 0;
    if (text[i] == '(' && depth == 0 && !nameless) {
      text.resize(i);
      break;
    }
  }
  if (text.starts_with("void ")) text.erase(0, 5);
  if (text.size() > kLongestName) text.replace(kLongestName - 3, std::string::npos, "...");
  return text;
}

}  // namespace

ActivityReport summarise(Recorded recorded) {
  std::vector<Activity>& all = recorded.activities;
  ActivityReport r{.lost = recorded.lost};
  if (all.empty()) return r;
  std::sort(all.begin(), all.end(), [](const Activity& a, const Activity& b) { return a.start_ns < b.start_ns; });
  std::map<std::string, ActivitySum> sums;
  std::uint64_t busy_ns = 0, covered = all.front().start_ns;
  for (const Activity& a : all) {
    ActivitySum& sum = sums[a.name];
    ++sum.calls, sum.seconds += 1e-9 * static_cast<double>(a.end_ns - a.start_ns);
    ++(a.kernel ? r.kernels : r.others);
    if (a.end_ns > covered) busy_ns += a.end_ns - std::max(a.start_ns, covered), covered = a.end_ns;
  }
  r.window_s = 1e-9 * static_cast<double>(covered - all.front().start_ns);
  r.busy_s = 1e-9 * static_cast<double>(busy_ns);
  for (auto& [name, sum] : sums) {
    sum.name = readable(name);
    r.sums.push_back(std::move(sum));
  }
  std::stable_sort(
      r.sums.begin(), r.sums.end(), [](const ActivitySum& a, const ActivitySum& b) { return a.seconds > b.seconds; });
  return r;
}

}  // namespace ttt::cuda
