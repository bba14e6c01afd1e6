#include "core/processors.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

namespace ttt {

std::optional<ProcessorTimes> processor_times(std::istream& stat) {
  std::string name;
  double user = 0, nice = 0, system = 0, idle = 0, io_wait = 0, irq = 0, soft_irq = 0, stolen = 0;
  // guests' time, which follows, is within user and nice
  if (!(stat >> name >> user >> nice >> system >> idle >> io_wait >> irq >> soft_irq >> stolen) || name != "cpu")
    return std::nullopt;
  const double busy = user + nice + system + irq + soft_irq, tick_s = 1 / static_cast<double>(::sysconf(_SC_CLK_TCK));
  return ProcessorTimes{tick_s * (busy + idle + io_wait + stolen), tick_s * busy, tick_s * stolen};
}

std::optional<double> clock_mhz() {
  const int here = ::sched_getcpu();
  std::ifstream frequency("/sys/devices/system/cpu/cpu" + std::to_string(here) + "/cpufreq/scaling_cur_freq");
  if (double khz = 0; frequency >> khz) return 1e-3 * khz;
  std::ifstream information("/proc/cpuinfo");
  int processor = -1;
  for (std::string line; std::getline(information, line);) {
    const std::size_t colon = line.find(':');
    if (line.starts_with("processor")) processor = std::stoi(line.substr(colon + 1));
    else if (line.starts_with("cpu MHz") && processor == here) return std::stod(line.substr(colon + 1));
  }
  return std::nullopt;
}

std::optional<double> highest_clock_mhz() {
  std::ifstream frequency(
      "/sys/devices/system/cpu/cpu" + std::to_string(::sched_getcpu()) + "/cpufreq/cpuinfo_max_freq");
  double khz = 0;
  if (frequency >> khz) return 1e-3 * khz;
  return std::nullopt;
}

bool has_bfloat16_instructions() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512bf16");
#else
  return false;
#endif
}

std::optional<double> cached_share(const std::filesystem::path& file) {
  std::error_code ec;
  const std::uintmax_t bytes = std::filesystem::file_size(file, ec);
  const int descriptor = ec || bytes == 0 ? -1 : ::open(file.c_str(), O_RDONLY);
  if (descriptor < 0) return std::nullopt;
  void* map = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, descriptor, 0);
  ::close(descriptor);
  if (map == MAP_FAILED) return std::nullopt;
  const auto page = static_cast<std::uintmax_t>(::sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> present((bytes + page - 1) / page);
  const bool known = ::mincore(map, bytes, present.data()) == 0;
  ::munmap(map, bytes);
  if (!known) return std::nullopt;
  const auto in_memory = std::count_if(present.begin(), present.end(), [](unsigned char p) { return p & 1; });
  return static_cast<double>(in_memory) / static_cast<double>(present.size());
}

}  // namespace ttt
