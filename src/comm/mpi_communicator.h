// Collectives in host memory over MPI messages.
#pragma once

#include <memory>

#include "comm/channel.h"
#include "comm/communicator.h"

namespace ttt::comm {

// Takes over `channel.comm` and frees it.
std::unique_ptr<Communicator> make_mpi(const Channel& channel);

}  // namespace ttt::comm
