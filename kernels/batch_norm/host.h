// Batch normalisation in training (Ioffe and Szegedy 2015), fused with the addition of a residual and the ReLU behind it.
//
// NHWC float32: x is [rows, channels], rows = N * H * W. Sums are taken over blocks of rows in float32 and over blocks in float64,
// so the statistics are good to float32's last digits whatever the number of rows, and the same for any number of threads.
//
// The same code normalises by the statistics of several ranks' rows: give it a SumOverRanks. Each rank then takes its own mean and
// spread about that mean, and one sum in float64 joins them (Chan, Golub and LeVeque 1983), in place of the cancelling E[x^2] - E[x]^2
// in float32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "kernels/common/float16.h"
#include "kernels/common/params.h"

namespace ttt {
class ThreadPool;
}

namespace ttt::kernels::host {

using kernels::BatchNormParams;

// Adds the values of all ranks in place, the same sums on every rank; called once a pass, by the caller's thread. Empty: one rank.
using SumOverRanks = std::function<void(double* values, std::size_t count)>;

// y = relu(weight * (x - mean) * rstd + bias + residual); residual [rows, channels] or null. mean, variance (biased), rstd: [channels],
// outputs. Returns the number of rows behind the statistics: that of all ranks.
std::int64_t batch_norm_forward(const BatchNormParams& p, const float* x, const float* weight, const float* bias, const float* residual,
                                float* y, float* mean, float* variance, float* rstd, ThreadPool* pool = nullptr,
                                const SumOverRanks& sum_over_ranks = {});

// grad_residual: the gradient behind the ReLU, or null where there is no residual. grad_weight, grad_bias: [channels], overwritten, of
// this rank's rows alone: gradients of parameters are summed over the ranks elsewhere. mean and rstd: what the forward pass gave.
void batch_norm_backward(const BatchNormParams& p, const float* grad_y, const float* x, const float* y, const float* weight, const float* mean,
                         const float* rstd, float* grad_x, float* grad_residual, float* grad_weight, float* grad_bias,
                         ThreadPool* pool = nullptr, const SumOverRanks& sum_over_ranks = {});

// A normalisation with fixed statistics, or what is left of one that is folded into the convolution before it:
// y = [max 0](x * scale + offset [+ residual]); p.eps is not read. scale, offset: [channels]; scale null: 1; residual [rows, channels] or
// null; y may be x. T: float, Bfloat16 or Float16: computed in float32 (the product and the first sum rounded once), rounded to T once.
template <class T>
void scale_offset_relu(const BatchNormParams& p, const T* x, const float* scale, const float* offset, const T* residual, T* y, ThreadPool* pool = nullptr);

}  // namespace ttt::kernels::host
