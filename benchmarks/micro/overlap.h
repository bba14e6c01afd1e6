#pragma once

#include "all_reduce_table.h"

namespace ttt::micro {

// The sides of overlap.cc. Every rank calls alike.
std::vector<Side> overlap_sides(comm::Communicator& comm);

}  // namespace ttt::micro
