// Others on this node: the share of its processors' time that did not go to this launch, and the clock rate.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>

#include "comm/world.h"
#include "core/processors.h"
#include "measure/arm.h"

namespace ttt::ablations {

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
