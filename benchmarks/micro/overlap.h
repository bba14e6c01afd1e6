#pragma once

#include "comm/communicator.h"

namespace ttt::micro {

// Adds the benchmarks of overlap.cc. Every rank calls alike.
void add_overlap(comm::Communicator& comm);

}  // namespace ttt::micro
