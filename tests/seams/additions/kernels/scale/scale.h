// An array times a number.
#pragma once

#include "kernels/common/operation.h"

namespace ttt::kernels {

//   in:  x [count] float32, factor
//   out: y [count]
namespace host {
void scale(std::int64_t count, const float* x, float factor, float* y);
}
namespace cuda {
void scale(std::int64_t count, const float* x, float factor, float* y, cudaStream_t stream);
}

}  // namespace ttt::kernels
