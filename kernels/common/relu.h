// The rectifier as all kernels apply it.
#pragma once

#include "core/host_device.h"

namespace ttt::kernels {

// A NaN passes: the loss must show it.
TTT_HD inline float relu(float v) { return v < 0.0f ? 0.0f : v; }

}  // namespace ttt::kernels
