// Whether a gradient is infinite or NaN: such a step is skipped where the loss is scaled.
#pragma once

#include "kernels/common/operation.h"

namespace ttt::kernels {

// gradient: [count]. Sets found [1] to 1 where one is infinite or NaN, else leaves it alone.
namespace host {
void find_nonfinite(const float* gradient, std::int64_t count, std::int32_t* found);
}
namespace cuda {
void find_nonfinite(const float* gradient, std::int64_t count, std::int32_t* found, cudaStream_t stream);
}

}  // namespace ttt::kernels
