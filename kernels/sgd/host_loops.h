#pragma once

#include <cstdint>

#include "kernels/common/host.h"
#include "kernels/common/simd.h"

namespace ttt::kernels::host {

using SgdLoop = void (*)(const SgdParams& p, std::int64_t n, const float* grad, float* momentum, float* weight);
SgdLoop sgd_loop(Isa isa);

}  // namespace ttt::kernels::host
