// GoogleTest's main under MPI.
#pragma once

#include "comm/world.h"

const ttt::comm::World& test_world();
