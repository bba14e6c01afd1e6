// Batch normalisation for CUDA: kernels/host/batch_norm.h's functions of one rank, with its results to the bit (the conventions
// of kernels/cuda/detection.h hold). Sums run over 256 rows in float32 and over those in float64, in a fixed order.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "kernels/params.h"

namespace ttt::kernels::cuda {

std::size_t batch_norm_workspace(const BatchNormParams& p);  // for either pass

void batch_norm_forward(const BatchNormParams& p, const float* x, const float* weight, const float* bias, const float* residual, float* y, float* mean,
                        float* variance, float* rstd, void* workspace, cudaStream_t stream);
void batch_norm_backward(const BatchNormParams& p, const float* grad_y, const float* x, const float* y, const float* weight, const float* mean,
                         const float* rstd, float* grad_x, float* grad_residual, float* grad_weight, float* grad_bias, void* workspace,
                         cudaStream_t stream);

// Frozen normalisation: y = [max 0](x * scale + offset [+ residual]); scale, offset: [channels]; y may be x. The host twin is
// the last step of its batch_norm_forward.
void scale_offset_relu(const BatchNormParams& p, const float* x, const float* scale, const float* offset, const float* residual, float* y,
                       cudaStream_t stream);

}  // namespace ttt::kernels::cuda
