#include "result/system_info.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <thread>

#include "core/parallel.h"
#include "core/text.h"

namespace ttt::result {
namespace {

// Value of the first "name<separator>value" line of a text file; "" where there is none.
std::string line_value(const std::string& file, const std::string& name, char separator) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(name)) continue;
    const std::size_t at = line.find(separator);
    if (at == std::string::npos) continue;
    const std::size_t begin = line.find_first_not_of(" \t\"", at + 1);
    const std::size_t end = line.find_last_not_of(" \t\"\r");
    return begin == std::string::npos ? "" : line.substr(begin, end - begin + 1);
  }
  return {};
}

// x86 and Arm: other systems have neither line.
std::optional<std::string> cpu_model() {
  const auto line = [](const char* name) { return line_value("/proc/cpuinfo", name, ':'); };
  if (const std::string family = line("cpu family"); !family.empty())
    return "family " + family + " model " + line("model\t");
  if (const std::string part = line("CPU part"); !part.empty())
    return "implementer " + line("CPU implementer") + " part " + part;
  return std::nullopt;
}

std::vector<std::string> cpu_features() {
  std::string all = line_value("/proc/cpuinfo", "flags", ':');
  if (all.empty()) all = line_value("/proc/cpuinfo", "Features", ':');
  std::istringstream words(all);
  const std::set<std::string> has{std::istream_iterator<std::string>(words), {}};
  std::vector<std::string> out;
  for (const char* feature : kCpuFeatures)
    if (has.contains(feature)) out.push_back(feature);
  return out;
}

std::string first_word(const std::string& file) {
  std::ifstream in(file);
  std::string word;
  in >> word;
  return word;
}

}  // namespace

Node this_node() {
  utsname name{};
  uname(&name);
  Node node{.host = sha256_hex(name.nodename).substr(0, 12)};
  node.cpu = line_value("/proc/cpuinfo", "model name", ':');
  if (node.cpu.empty()) node.cpu = name.machine;
  node.cpu_model = cpu_model();
  node.cpu_features = cpu_features();
  node.logical_cores = static_cast<std::int64_t>(std::thread::hardware_concurrency());
  if (const long online = sysconf(_SC_NPROCESSORS_ONLN); online > 0) node.logical_cores = online;
  if (const int usable = usable_cores(); usable > 0) node.usable_cores = usable;
  for (const int cpu : usable_processors()) node.bound_to.push_back(cpu);
  node.memory_bytes = static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  // Control groups (containers, Slurm): version 2 says "max" where there is no limit.
  const std::string limit = first_word("/sys/fs/cgroup/memory.max");
  if (!limit.empty() && limit.find_first_not_of("0123456789") == std::string::npos && limit.size() < 19)
    node.memory_limit_bytes = std::stoll(limit);
  node.kernel = std::string(name.sysname) + " " + name.release;
  node.os = line_value("/etc/os-release", "PRETTY_NAME", '=');
  return node;
}

Json system_json(const std::vector<Node>& node_of_rank) {
  System system{.world_size = std::ssize(node_of_rank)};
  std::map<std::string, std::size_t> index;
  for (std::size_t rank = 0; rank < node_of_rank.size(); ++rank) {
    const auto [at, is_new] = index.emplace(node_of_rank[rank].host, system.nodes.size());
    if (is_new) system.nodes.push_back(node_of_rank[rank]), system.nodes.back().ranks.clear();
    Node& node = system.nodes[at->second];
    node.ranks.push_back(static_cast<std::int64_t>(rank));
    std::set<std::int64_t> together(node.bound_to.begin(), node.bound_to.end());
    together.insert(node_of_rank[rank].bound_to.begin(), node_of_rank[rank].bound_to.end());
    node.bound_to.assign(together.begin(), together.end());
  }
  return json_of(system);
}

}  // namespace ttt::result
