// The inner loops of batch_norm.cc for each instruction set: `rows` consecutive rows of `channels` floats.
#pragma once

#include <cstdint>

#include "kernels/common/simd.h"

namespace ttt::kernels::host {

struct BatchNormLoops {
  // sum[c] = sum over rows of x - shift[c]
  void (*sum)(std::int64_t rows, std::int64_t channels, const float* x, const float* shift, float* sum);
  // sum[c] = sum over rows of (x - shift[c])^2
  void (*square)(std::int64_t rows, std::int64_t channels, const float* x, const float* shift, float* sum);
  // y = [max 0](x * scale[c] + offset[c] [+ residual])
  void (*apply)(std::int64_t rows, std::int64_t channels, const float* x, const float* scale, const float* offset, const float* residual, bool relu,
                float* y);
  // g = y > 0 or not relu ? grad : 0; sum_g[c] = sum of g; sum_gx[c] = sum of g * (x - mean[c]); masked = g where not null
  void (*backward_sums)(std::int64_t rows, std::int64_t channels, const float* grad, const float* y, const float* x, const float* mean, bool relu,
                        float* masked, float* sum_g, float* sum_gx);
  // grad_x = a[c] * g + b[c] * x + d[c], with g as above
  void (*backward_apply)(std::int64_t rows, std::int64_t channels, const float* grad, const float* y, const float* x, const float* a, const float* b,
                         const float* d, bool relu, float* grad_x);
};

BatchNormLoops batch_norm_loops(Isa isa);

}  // namespace ttt::kernels::host
