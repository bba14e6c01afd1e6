// Packs of neighbouring channels, for kernels over channels-last memory.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/common/float16.h"

namespace ttt::kernels::cuda {

// kWidth values of one load or store. Functions take packs by value: of a reference to memory nvcc loads each value by
// itself (tests/kernels/machine_code.py sees to the loads).
template <class T, int kWidth> struct alignas(kWidth * sizeof(T)) Pack { T value[kWidth]; };

// sum += w * v, each rounded once.
template <class T, int kWidth> __device__ inline void add_product(float w, Pack<T, kWidth> v, float (&sum)[kWidth]) {
#pragma unroll
  for (int k = 0; k < kWidth; ++k) sum[k] = fmaf(w, widen(v.value[k]), sum[k]);
}

template <class T, int kWidth> __device__ inline Pack<T, kWidth> packed(const float (&v)[kWidth]) {
  Pack<T, kWidth> p;
#pragma unroll
  for (int k = 0; k < kWidth; ++k) p.value[k] = narrow<T>(v[k]);
  return p;
}

template <class T, int kWidth> __device__ inline void widen_all(Pack<T, kWidth> p, float (&v)[kWidth]) {
#pragma unroll
  for (int k = 0; k < kWidth; ++k) v[k] = widen(p.value[k]);
}

// Whether packs may be used: channels are whole packs, and the address is aligned to one. Null takes packs.
template <class T, int kWidth> bool takes_packs(std::int64_t channels, const T* p) {
  return channels % kWidth == 0 && reinterpret_cast<std::uintptr_t>(p) % sizeof(Pack<T, kWidth>) == 0;
}

}  // namespace ttt::kernels::cuda
