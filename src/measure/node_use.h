// Others on this node: the share of its processors' time that did not go to this launch, and the clock rate.
#pragma once

#include <array>
#include <istream>
#include <map>
#include <optional>
#include <string>

#include "comm/world.h"
#include "measure/arm.h"

namespace ttt::ablations {

// Seconds of all processors of a node together, since it started.
struct ProcessorTimes {
  double all_s = 0, busy_s = 0, stolen_s = 0;  // stolen: the host ran another machine while this one wanted to run
};
// Of the text of /proc/stat (proc_stat(5)); nothing where it does not begin as that does.
std::optional<ProcessorTimes> processor_times(std::istream& stat);

// The clock rate of the processor that this thread is on; nothing where the system does not tell.
std::optional<double> clock_mhz();

// Adds up windows of time, each from begin() to end(). The first rank of a node reads its /proc/stat, so neither
// belongs into time that is measured.
class NodeUse {
 public:
  explicit NodeUse(const comm::World& world) : world_(&world) {}
  void begin() { before_ = now(); }
  void end();
  // "others" and "stolen": shares of the processors' time, of the node with most; "clock_mhz": of the slowest, once in
  // the first window. Where no system tells, there is none. Collective.
  Counters noise(comm::Communicator& control) const;

 private:
  struct Moment {
    ProcessorTimes node;  // 0 on the other ranks
    double own_s = 0;     // of this process
  };
  Moment now() const;

  const comm::World* world_;
  Moment before_, sum_;
  std::optional<double> clock_mhz_;
};

// The noise of both sides, by name. A name that one side lacks is left out: the turns of a short operation may end
// before the system's clock, which counts hundredths of a second, has moved.
std::map<std::string, std::array<double, 2>> known_to_both(const Counters& a, const Counters& b);

}  // namespace ttt::ablations
