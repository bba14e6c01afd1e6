// The load, the clock and the cached files of this node just now, as Linux tells.
#pragma once

#include <filesystem>
#include <istream>
#include <optional>

namespace ttt {

// Seconds of all processors of a node together, since it started.
struct ProcessorTimes {
  double all_s = 0, busy_s = 0, stolen_s = 0;  // stolen: the host ran another machine while this one wanted to run
};
// Of the text of /proc/stat (proc_stat(5)); nothing where it does not begin as that does.
std::optional<ProcessorTimes> processor_times(std::istream& stat);

// The clock rate of the processor that this thread is on; nothing where the system does not tell.
std::optional<double> clock_mhz();

// The highest clock rate of the processor that this thread is on; nothing where the system does not tell, as most
// virtual machines do not.
std::optional<double> highest_clock_mhz();

// Without instructions for bfloat16 a processor multiplies such numbers one by one, some seventy times slower than
// float32.
bool has_bfloat16_instructions();

// The share of the bytes of a file that are in memory already; nothing where it cannot be mapped or is empty.
std::optional<double> cached_share(const std::filesystem::path& file);

}  // namespace ttt
