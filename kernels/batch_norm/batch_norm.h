// Batch normalisation in training (Ioffe and Szegedy 2015), fused with the addition of a residual and the ReLU.
//
// NHWC float32: x is [rows, channels], rows = N * H * W. Sums run over blocks of 256 rows in float32. The blocks' sums
// are added in float64: every 32nd makes a part, then part by part. The order is fixed, and the statistics are good to
// float32's last digits for any number of rows.
//
// Statistics over several ranks come from the same code with a SumOverRanks. Each rank takes its own mean and spread
// about that mean. One float64 sum joins them (Chan, Golub and LeVeque 1983). E[x^2] - E[x]^2 in float32 would cancel.
#pragma once

#include <functional>

#include "kernels/common/float16.h"
#include "kernels/common/operation.h"

namespace ttt::kernels {

inline constexpr int kSumRows = 256;  // of a block
inline constexpr int kSumGroups = 8;  // of a block's rows, in offset_gradient
inline constexpr int kSumParts = 32;  // in which a device's threads add up the blocks of a channel

struct BatchNormParams {
  std::int64_t rows = 0, channels = 0;
  float eps = 1e-5f;
  bool relu = true;
};
struct BatchNormIn {
  const float* x;  // [rows, channels]
  const float *weight, *bias;
  const float* residual;  // [rows, channels] or null
};
struct BatchNormOut {
  float* y;                       // [rows, channels]
  float *mean, *variance, *rstd;  // [channels]; the variance is biased
};
struct BatchNormGradIn {
  const float *grad_y, *x, *y;
  const float *weight, *mean, *rstd;  // mean and rstd of the forward pass
};
struct BatchNormGradOut {
  float* grad_x;
  float* grad_residual;            // the gradient behind the ReLU; null where there is no residual
  float *grad_weight, *grad_bias;  // [channels] of this rank's rows alone, overwritten
};
template <class T> struct ScaleOffsetIn {
  const T* x;
  const float *scale, *offset;  // [channels]; scale null: 1
  const T* residual;            // [rows, channels] or null
};

// Of scale_offset_relu without a scale. y: its result; null where not p.relu.
template <class T> struct OffsetGradIn { const T *grad_y, *y; };
template <class T> struct OffsetGradOut {
  T* grad_x;           // the residual's gradient too; null where not p.relu: it is grad_y
  float* grad_offset;  // [channels], overwritten
};

// Adds the values of all ranks in place, the same sums on every rank; called once a pass by the caller's thread. On a
// device the values are in its memory, and the sum is ordered on the same stream. Empty: one rank.
using SumOverRanks = std::function<void(double* values, std::size_t count)>;

// Forward:  y = relu(weight * (x - mean) * rstd + bias + residual). On the host it returns the number of rows behind
// the statistics, those of all ranks. scale_offset_relu: y = [max 0](x * scale + offset [+ residual]), a normalisation
// with fixed statistics or its rest after folding into a convolution. p.eps is not read; y may be x. T: float, Bfloat16
// or Float16: computed in float32 (the product and the first sum rounded once), rounded to T once. offset_gradient: its
// gradients without a scale. A block's sum is that of kSumGroups groups of rows.
namespace host {
std::int64_t batch_norm_forward(const BatchNormParams& p, const BatchNormIn& in, const BatchNormOut& out,
    ThreadPool* pool = nullptr, const SumOverRanks& sum_over_ranks = {});
void batch_norm_backward(const BatchNormParams& p, const BatchNormGradIn& in, const BatchNormGradOut& out,
    ThreadPool* pool = nullptr, const SumOverRanks& sum_over_ranks = {});
template <class T>
void scale_offset_relu(const BatchNormParams& p, const ScaleOffsetIn<T>& in, T* y, ThreadPool* pool = nullptr);
template <class T> void offset_gradient(
    const BatchNormParams& p, const OffsetGradIn<T>& in, const OffsetGradOut<T>& out, ThreadPool* pool = nullptr);
}  // namespace host
namespace cuda {
std::size_t batch_norm_workspace(const BatchNormParams& p);  // for either pass
void batch_norm_forward(const BatchNormParams& p, const BatchNormIn& in, const BatchNormOut& out, void* workspace,
    cudaStream_t stream, const SumOverRanks& sum_over_ranks = {});
void batch_norm_backward(const BatchNormParams& p, const BatchNormGradIn& in, const BatchNormGradOut& out,
    void* workspace, cudaStream_t stream, const SumOverRanks& sum_over_ranks = {});
template <class T>
void scale_offset_relu(const BatchNormParams& p, const ScaleOffsetIn<T>& in, T* y, cudaStream_t stream);
std::size_t offset_gradient_workspace(const BatchNormParams& p);
template <class T> void offset_gradient(const BatchNormParams& p, const OffsetGradIn<T>& in,
    const OffsetGradOut<T>& out, void* workspace, cudaStream_t stream);
}  // namespace cuda

}  // namespace ttt::kernels
