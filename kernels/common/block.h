// Sums, sorting and selection of the smallest keys by the threads of a block. All threads of the block call, with the
// same arguments unless stated otherwise; blocks are whole warps. Own versions, because the tests' emulator cannot
// execute cub's.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "core/host_device.h"

namespace ttt::kernels::cuda {

inline constexpr unsigned kAllLanes = 0xFFFFFFFFu;

// Sum of `value` over the threads before this one; `total`, the sum over all. scratch: [33] in shared memory, free
// again after the caller's next barrier.
__device__ inline int block_exclusive_sum(int value, int* scratch, int& total) {
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  int inclusive = value;
  for (unsigned step = 1; step < 32; step *= 2) {
    const int below = __shfl_up_sync(kAllLanes, inclusive, step);
    if (lane >= step) inclusive += below;
  }
  __syncthreads();  // scratch may still be read by a call before
  if (lane == 31) scratch[warp] = inclusive;
  __syncthreads();
  if (warp == 0) {
    const int own = lane < warps ? scratch[lane] : 0;
    int sum = own;
    for (unsigned step = 1; step < 32; step *= 2) {
      const int below = __shfl_up_sync(kAllLanes, sum, step);
      if (lane >= step) sum += below;
    }
    scratch[lane] = sum - own;
    if (lane == 31) scratch[32] = sum;
  }
  __syncthreads();
  total = scratch[32];
  return scratch[warp] + inclusive - value;
}

TTT_HD inline int power_of_two_from(int n) {
  int p = 1;
  while (p < n) p *= 2;
  return p;
}

// Sorts keys[0, n), n a power of two, ascending (Batcher's bitonic network: no data-dependent step). Begins and ends
// with a barrier.
__device__ inline void block_sort(std::uint64_t* keys, int n) {
  for (int run = 2; run <= n; run *= 2) {
    for (int step = run / 2; step > 0; step /= 2) {
      __syncthreads();
      for (int i = static_cast<int>(threadIdx.x); i < n / 2; i += static_cast<int>(blockDim.x)) {
        const int low = i / step * 2 * step + i % step, high = low + step;
        const std::uint64_t a = keys[low], b = keys[high];
        const bool ascending = (low & run) == 0;
        if ((a > b) == ascending) {
          keys[low] = b;
          keys[high] = a;
        }
      }
    }
  }
  __syncthreads();
}

inline constexpr int kDigitBits = 11, kDigits = 1 << kDigitBits;

struct SelectScratch {  // in shared memory
  int histogram[kDigits];
  int sums[33];
  int chosen, before, collected;
};

// visit(key) of every i < n that has one: key(i, value) is false where i has none. A thread has the loads of several
// keys open, or it would wait for each.
template <class KeyOf, class Visit> __device__ void for_each_key(std::int64_t n, const KeyOf& key, const Visit& visit) {
  constexpr int kAtOnce = 8;
  for (std::int64_t first = threadIdx.x; first < n; first += kAtOnce * static_cast<std::int64_t>(blockDim.x)) {
    std::uint64_t value[kAtOnce];
    bool has[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const std::int64_t i = first + k * static_cast<std::int64_t>(blockDim.x);
      has[k] = i < n && key(i, value[k]);
    }
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k)
      if (has[k]) visit(value[k]);
  }
}

// A bound for the k-th smallest of n distinct keys, found digit by digit from the top. At most k keys are <= the
// result, and exactly k where there are as many. key: as for_each_key's.
template <class KeyOf>
__device__ std::uint64_t kth_smallest_bound(std::int64_t n, int k, const KeyOf& key, SelectScratch& s) {
  std::uint64_t prefix = 0;  // the digits found so far
  int wanted = k;            // how many of the keys with this prefix belong to the smallest
  for (int shift = 64 - kDigitBits;; shift -= kDigitBits) {
    const int low = shift > 0 ? shift : 0, bits = shift > 0 ? kDigitBits : kDigitBits + shift, above = low + bits;
    __syncthreads();
    for (int d = static_cast<int>(threadIdx.x); d < kDigits; d += static_cast<int>(blockDim.x)) s.histogram[d] = 0;
    __syncthreads();
    for_each_key(n, key, [&](std::uint64_t value) {
      if (above < 64 && value >> above != prefix >> above) return;
      atomicAdd(&s.histogram[value >> low & ((1u << bits) - 1)], 1);
    });
    __syncthreads();
    // Each thread sums some neighbouring digits; in one thread's range lies the digit at which the sum reaches
    // `wanted`.
    const int per_thread = (kDigits + static_cast<int>(blockDim.x) - 1) / static_cast<int>(blockDim.x);
    const int first = static_cast<int>(threadIdx.x) * per_thread;
    int own = 0, total = 0;
    for (int d = first; d < first + per_thread && d < kDigits; ++d) own += s.histogram[d];
    int before = block_exclusive_sum(own, s.sums, total);
    if (total <= wanted) return prefix | (above < 64 ? (std::uint64_t{1} << above) - 1 : ~std::uint64_t{0});
    if (before < wanted && before + own >= wanted) {
      int d = first;
      for (; before + s.histogram[d] < wanted; ++d) before += s.histogram[d];
      s.chosen = d;
      s.before = before;
    }
    __syncthreads();
    prefix |= static_cast<std::uint64_t>(s.chosen) << low;
    wanted -= s.before;
    if (wanted == s.histogram[s.chosen]) return prefix | ((std::uint64_t{1} << low) - 1);
    // With distinct keys the last digit holds one key: returned above.
  }
}

// Writes the k smallest keys (all, where there are fewer) to keys in shared memory, ascending, and returns how many.
// The rest of keys, up to the power of two from k, is overwritten.
template <class KeyOf>
__device__ int select_smallest(std::int64_t n, int k, const KeyOf& key, SelectScratch& s, std::uint64_t* keys) {
  if (k <= 0) return 0;
  const std::uint64_t bound = kth_smallest_bound(n, k, key, s);
  __syncthreads();
  if (threadIdx.x == 0) s.collected = 0;
  __syncthreads();
  for_each_key(n, key, [&](std::uint64_t value) {
    if (value <= bound) keys[atomicAdd(&s.collected, 1)] = value;  // any order: they are sorted next
  });
  __syncthreads();
  const int count = s.collected, padded = power_of_two_from(count);
  for (int i = count + static_cast<int>(threadIdx.x); i < padded; i += static_cast<int>(blockDim.x))
    keys[i] = ~std::uint64_t{0};
  block_sort(keys, padded);
  return count;
}

// How many of the ascending keys are below `key`.
template <class Keys> __device__ int count_below(const Keys& keys, int n, std::uint64_t key) {
  int low = 0, high = n;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (keys(middle) < key) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

}  // namespace ttt::kernels::cuda
