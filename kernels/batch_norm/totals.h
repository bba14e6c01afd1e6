// Sums of channels from those of blocks of kSumRows rows.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/batch_norm/batch_norm.h"
#include "kernels/common/launch.h"

namespace ttt::kernels::cuda {

// A block of kSumParts warps adds up 32 channels: a thread has one channel's every kSumParts-th sum. One thread alone
// would wait for thousands of loads, one after the other.
constexpr int kTotalThreads = 32 * kSumParts;

class Totals {
 public:
  explicit __device__ Totals(const BatchNormParams& p)
      : p_(p), lane_(static_cast<int>(threadIdx.x) % 32), part_(static_cast<int>(threadIdx.x) / 32),
        channel_(static_cast<std::int64_t>(blockIdx.x) * 32 + lane_) {}
  // The thread that finishes a channel: it alone has the totals.
  __device__ bool finishes() const { return part_ == 0 && channel_ < p_.channels; }
  __device__ std::int64_t channel() const { return channel_; }
  __device__ double of(const float* sums) const {  // by all threads of the block
    __shared__ double parts[kSumParts][32];
    double sum = 0;
    if (channel_ < p_.channels)
      for (std::int64_t b = part_; b < (p_.rows + kSumRows - 1) / kSumRows; b += kSumParts)
        sum += static_cast<double>(sums[b * p_.channels + channel_]);
    parts[part_][lane_] = sum;
    __syncthreads();
    sum = 0;
    if (part_ == 0)
      for (int i = 0; i < kSumParts; ++i) sum += parts[i][lane_];
    __syncthreads();  // before the next one's
    return sum;
  }

 private:
  const BatchNormParams& p_;
  int lane_, part_;
  std::int64_t channel_;
};

// Of a kernel that uses it.
inline Shape by_totals(const BatchNormParams& p) { return {.x = blocks_for(p.channels, 32), .threads = kTotalThreads}; }

}  // namespace ttt::kernels::cuda
