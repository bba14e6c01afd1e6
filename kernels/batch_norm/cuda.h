// Normalisation for CUDA: kernels/batch_norm/host.h's functions, with their results to the bit (the conventions
// of kernels/common/cuda.h hold). Sums run over 256 rows in float32 and over those in float64, in a fixed order.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>

#include "kernels/common/float16.h"
#include "kernels/common/params.h"

namespace ttt::kernels::cuda {

std::size_t batch_norm_workspace(const BatchNormParams& p);  // for either pass

// As the host twin's, of values in the device's memory: what it does is ordered on the same stream.
using SumOverRanks = std::function<void(double* values, std::size_t count)>;

void batch_norm_forward(const BatchNormParams& p, const float* x, const float* weight, const float* bias, const float* residual, float* y, float* mean,
                        float* variance, float* rstd, void* workspace, cudaStream_t stream, const SumOverRanks& sum_over_ranks = {});
void batch_norm_backward(const BatchNormParams& p, const float* grad_y, const float* x, const float* y, const float* weight, const float* mean,
                         const float* rstd, float* grad_x, float* grad_residual, float* grad_weight, float* grad_bias, void* workspace,
                         cudaStream_t stream, const SumOverRanks& sum_over_ranks = {});

template <class T>  // float, Bfloat16, Float16
void scale_offset_relu(const BatchNormParams& p, const T* x, const float* scale, const float* offset, const T* residual, T* y, cudaStream_t stream);

}  // namespace ttt::kernels::cuda
