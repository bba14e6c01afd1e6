#include "tools/preflight/facts.h"

#include <sched.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "core/error.h"
#include "cuda/devices.h"
#include "cuda/nvml.h"
#include "data/shapes.h"
#include "result/system_info.h"
#include "tools/preflight/cpu_list.h"

namespace ttt::preflight {
namespace fs = std::filesystem;
namespace {

using result::Json;

std::string first_line(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

CpuSet usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  CpuSet cpus;
  if (::sched_getaffinity(0, sizeof set, &set) == 0)
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(cpu, &set)) cpus.insert(cpu);
  return cpus;
}

// A core is named by its first hardware thread. Where the topology cannot be read, each CPU is a core.
CpuSet cores_of(const CpuSet& cpus) {
  CpuSet cores;
  for (const int cpu : cpus) {
    const std::string siblings =
        first_line("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list");
    cores.insert(siblings.empty() ? cpu : *parse_cpu_list(siblings).begin());
  }
  return cores;
}

CpuSet numa_nodes_of(const CpuSet& cpus) {
  CpuSet nodes;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/sys/devices/system/node", error)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with("node") || name.find_first_not_of("0123456789", 4) != std::string::npos) continue;
    if (intersect(parse_cpu_list(first_line(entry.path() / "cpulist")), cpus)) nodes.insert(std::stoi(name.substr(4)));
  }
  return nodes;
}

std::vector<std::string> governors() {
  std::set<std::string> found;
  for (long cpu = 0; cpu < ::sysconf(_SC_NPROCESSORS_ONLN); ++cpu)
    found.insert(first_line("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cpufreq/scaling_governor"));
  found.erase("");
  return {found.begin(), found.end()};
}

// The smaller of what the node has left and what this process's control group leaves. 0: unknown.
std::int64_t memory_available_bytes() {
  std::int64_t available = 0;
  std::ifstream in("/proc/meminfo");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("MemAvailable:")) available = std::atoll(line.c_str() + 13) * 1024;
  const std::string limit = first_line("/sys/fs/cgroup/memory.max"), used = first_line("/sys/fs/cgroup/memory.current");
  const std::int64_t room = std::atoll(limit.c_str()) - std::atoll(used.c_str());
  return !limit.empty() && limit != "max" && room < available ? std::max<std::int64_t>(room, 0) : available;
}

Json disk_of(const std::string& purpose, const std::string& path) {
  Json disk = {{"folder", purpose}, {"path", path}};
  fs::path there = path;  // a folder that is yet to be made: the nearest above it that exists
  std::error_code error;
  while (!fs::exists(there, error) && there.has_relative_path()) there = there.parent_path();
  struct statvfs info {};
  if (!fs::is_directory(there, error)) disk["problem"] = "is no folder";
  else if (purpose == "result" && there != fs::path(path)) disk["problem"] = "is not there";
  else if (::access(there.c_str(), W_OK) != 0) disk["problem"] = "cannot be written";
  else if (::statvfs(there.c_str(), &info) != 0) disk["problem"] = "cannot be asked for its free space";
  else disk["free_bytes"] = static_cast<std::int64_t>(info.f_bavail) * static_cast<std::int64_t>(info.f_frsize);
  return disk;
}

Json gpus() {
  try {
    const cuda::GpuReport report = cuda::gpu_health();
    Json devices = Json::array();
    for (const cuda::GpuHealth& g : report.devices)
      devices.push_back(
          {{"name", g.name}, {"memory_bytes", g.memory_bytes}, {"uncorrected_ecc_errors", g.uncorrected_ecc_errors},
              {"temperature_c", g.temperature_c}, {"slowed_by", g.slowed_by}});
    return {{"driver", report.driver}, {"devices", std::move(devices)}};
  } catch (const NotSupported& e) { return {{"reason", e.what()}}; }
}

Json gpu_of(const Place& place) {
  try {
    const std::vector<std::string> visible = cuda::visible_devices();
    const std::string& id = visible[static_cast<std::size_t>(
        cuda::device_of_rank(static_cast<int>(visible.size()), place.local_rank, place.local_size))];
    std::string file = id;
    std::transform(
        file.begin(), file.end(), file.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    const std::string numa = first_line("/sys/bus/pci/devices/" + file + "/numa_node");
    return {{"bus_id", id}, {"numa", numa.empty() ? -1 : std::atoi(numa.c_str())}};
  } catch (const NotSupported& e) { return {{"reason", e.what()}}; }
}

// Variables that a launcher forwards or not. What is of one rank or one node (SLURM_JOB_..., devices, the launcher's
// own) may differ.
Json shared_environment(const Json& all) {
  Json kept = Json::object();
  for (const auto& [name, value] : all.items())
    if (!name.starts_with("SLURM_") && !name.starts_with("OMPI_MCA_") && name != "CUDA_VISIBLE_DEVICES")
      kept[name] = value;
  return kept;
}

std::string host_name() {
  utsname name{};
  ::uname(&name);
  return name.nodename;
}

}  // namespace

Json rank_facts(const Place& place, const std::string& result_folder,
    const std::map<std::string, result::LibraryVersion>& libraries) {
  Json provenance = result::provenance_json({}, libraries);
  const CpuSet cpus = usable_cpus();
  Json facts = {{"host", host_name()}, {"environment", shared_environment(provenance["environment"])}};
  for (const char* name : {"command", "environment", "started_at"}) provenance.erase(name);
  facts["build"] = std::move(provenance);
  facts["cpus"] = cpu_list(cpus);
  facts["cores"] = cpu_list(cores_of(cpus));
  facts["numa"] = cpu_list(numa_nodes_of(cpus));
  facts["gpu"] = gpu_of(place);
  if (place.local_rank != 0) return facts;
  const result::Node node = result::this_node();
  facts["cpu"] = node.cpu, facts["kernel"] = node.kernel, facts["logical_cores"] = node.logical_cores;
  if (const std::int64_t bytes = memory_available_bytes(); bytes > 0) facts["memory_available_bytes"] = bytes;
  const char* temporary = std::getenv("TMPDIR");
  facts["disk"] = Json::array({disk_of("result", result_folder), disk_of("cache", data::cache_folder()),
      disk_of("temporary files", temporary && *temporary ? temporary : "/tmp")});
  facts["governors"] = governors();
  facts["gpus"] = gpus();
  return facts;
}

}  // namespace ttt::preflight
