#include "kernels/scale/scale.h"

namespace ttt::kernels::host {

void scale(std::int64_t count, const float* x, float factor, float* y) {
  for (std::int64_t i = 0; i < count; ++i) y[i] = x[i] * factor;
}

}  // namespace ttt::kernels::host
