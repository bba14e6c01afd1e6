// The names of core/nearest.h, as the programs call them.
#pragma once

#include "core/nearest.h"

namespace ttt::harness {

using ttt::edit_distance;
using ttt::nearest;

}  // namespace ttt::harness
