// How far the ranks' clocks are apart, as barriers prove it.
#pragma once

#include <vector>

#include "comm/communicator.h"
#include "core/clock.h"

namespace ttt::comm {

// The rank's clock reads `offset_s` more than rank 0's at the same moment, give or take `uncertainty_s`.
struct ClockOffset {
  double offset_s = 0, uncertainty_s = 0;
};

inline constexpr int kClockBarriers = 64;

// Collective; rank 0 gets one offset for each rank, the others nothing. `now`: this rank's clock.
//
// No rank leaves a barrier before every rank has entered it. So rank r leaves after rank 0 entered, and rank 0 after
// rank r entered. Each barrier bounds the offset from both sides, without any assumption on how long messages take. The
// bounds of all barriers hold together. The middle of what they leave is the estimate, half its width the uncertainty.
// Where a clock gained more than that within the call (on a loaded machine), the bounds contradict each other.
// They do so by what it gained at least, which is then the uncertainty.
std::vector<ClockOffset> clock_offsets(Communicator& comm, int barriers = kClockBarriers, double (*now)() = now_s);

}  // namespace ttt::comm
