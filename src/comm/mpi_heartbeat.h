// Signs of life over MPI messages.
#pragma once

#include <memory>

#include "comm/channel.h"
#include "comm/heartbeat.h"

namespace ttt::comm {

// Takes over `channel.comm` (null for one rank: no messages) and frees it. `place` outlives it.
std::unique_ptr<Heartbeat> make_heartbeat(const Channel& channel, const RankState& place);

}  // namespace ttt::comm
