// Batch normalisation in training (Ioffe and Szegedy 2015), fused with the addition of a residual and the ReLU behind it.
//
// NHWC float32: x is [rows, channels], rows = N * H * W. Sums are taken over blocks of rows in float32 and over blocks in float64,
// so the statistics are good to float32's last digits whatever the number of rows, and the same for any number of threads.
#pragma once

#include <cstdint>

namespace ttt {
class ThreadPool;
}

namespace ttt::kernels::host {

struct BatchNormParams {
  std::int64_t rows = 0, channels = 0;
  float eps = 1e-5f;
  bool relu = true;
};

// y = relu(weight * (x - mean) * rstd + bias + residual); residual [rows, channels] or null. mean, variance (biased), rstd: [channels], outputs.
void batch_norm_forward(const BatchNormParams& p, const float* x, const float* weight, const float* bias, const float* residual, float* y,
                        float* mean, float* variance, float* rstd, ThreadPool* pool = nullptr);

// grad_residual: the gradient behind the ReLU, or null where there is no residual. grad_weight, grad_bias: [channels], overwritten.
void batch_norm_backward(const BatchNormParams& p, const float* grad_y, const float* x, const float* y, const float* weight, const float* mean,
                         const float* rstd, float* grad_x, float* grad_residual, float* grad_weight, float* grad_bias,
                         ThreadPool* pool = nullptr);

}  // namespace ttt::kernels::host
