// One channel or four at a time, for kernels over channels-last memory.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace ttt::kernels::cuda {

template <class V>
inline constexpr int kWidth = sizeof(V) / sizeof(float);

template <class V>
__device__ V zero();
template <>
__device__ inline float zero<float>() {
  return 0.0f;
}
template <>
__device__ inline float4 zero<float4>() {
  return make_float4(0.0f, 0.0f, 0.0f, 0.0f);
}

// w * v + sum, rounded once.
__device__ inline float fused(float w, float v, float sum) { return fmaf(w, v, sum); }
__device__ inline float4 fused(float w, const float4& v, const float4& sum) {
  return make_float4(fmaf(w, v.x, sum.x), fmaf(w, v.y, sum.y), fmaf(w, v.z, sum.z), fmaf(w, v.w, sum.w));
}

// Whether float4 may be used: whole vectors of channels, and an address that the hardware takes.
inline bool takes_float4(std::int64_t channels, const void* p) { return channels % 4 == 0 && reinterpret_cast<std::uintptr_t>(p) % 16 == 0; }

}  // namespace ttt::kernels::cuda
