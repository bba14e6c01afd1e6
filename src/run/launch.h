// A program's place among the ranks of MPI, as the harness wants to know it.
#pragma once

#include "app/app.h"
#include "comm/world.h"

namespace ttt {

// Both must outlive the launch.
harness::Launch launch_of(const comm::World& world, comm::Communicator& comm, double start_s);

}  // namespace ttt
