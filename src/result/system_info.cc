#include "result/system_info.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <fstream>
#include <map>
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

std::string first_word(const std::string& file) {
  std::ifstream in(file);
  std::string word;
  in >> word;
  return word;
}

}  // namespace

Json node_json() {
  utsname name{};
  uname(&name);
  Json node = {{"host", sha256_hex(name.nodename).substr(0, 12)}};
  const std::string cpu = line_value("/proc/cpuinfo", "model name", ':');
  node["cpu"] = cpu.empty() ? std::string(name.machine) : cpu;
  node["logical_cores"] = static_cast<std::int64_t>(std::thread::hardware_concurrency());
  if (const long online = sysconf(_SC_NPROCESSORS_ONLN); online > 0) node["logical_cores"] = online;
  if (const int usable = usable_cores(); usable > 0) node["usable_cores"] = usable;
  node["memory_bytes"] = static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  // Control groups (containers, Slurm): version 2 says "max" where there is no limit.
  const std::string limit = first_word("/sys/fs/cgroup/memory.max");
  if (!limit.empty() && limit.find_first_not_of("0123456789") == std::string::npos && limit.size() < 19)
    node["memory_limit_bytes"] = std::stoll(limit);
  node["kernel"] = std::string(name.sysname) + " " + name.release;
  const std::string os = line_value("/etc/os-release", "PRETTY_NAME", '=');
  if (!os.empty()) node["os"] = os;
  return node;
}

Json system_json(const std::vector<Json>& node_of_rank) {
  Json nodes = Json::array();
  std::map<std::string, std::size_t> index;
  for (std::size_t rank = 0; rank < node_of_rank.size(); ++rank) {
    const Json& node = node_of_rank[rank];
    const auto [at, is_new] = index.emplace(node.value("host", ""), nodes.size());
    if (is_new) {
      nodes.push_back(node);
      nodes.back()["ranks"] = Json::array();
    }
    nodes[at->second]["ranks"].push_back(rank);
  }
  return {{"world_size", node_of_rank.size()}, {"nodes", std::move(nodes)}};
}

}  // namespace ttt::result
