// The part of CUDA's language and run time that the kernels use, for compiling a .cu file as C++ (see emulator.h). It
// replaces the toolkit's header of this name; a kernel that needs more of CUDA does not compile here.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <source_location>
#include <tuple>

#include "emulator.h"
#include "shadow.h"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __grid_constant__
// All static shared memory lies in one section, so that it can be poisoned before each block; blocks run one at a time.
#define __shared__ static __attribute__((section("ttt_shared")))
// The functions below act for the hardware: their own accesses are not the kernel's.
#define EMULATED [[gnu::no_sanitize("thread"), gnu::noinline]] inline

struct uint3 {
  unsigned x, y, z;
};
struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};
struct alignas(8) float2 {
  float x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }

// Set by the emulator whenever a thread resumes.
extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;

// Host side.
using cudaStream_t = struct CUstream_st*;
enum cudaError_t { cudaSuccess = 0, cudaErrorInvalidConfiguration = 9 };
inline const char* cudaGetErrorString(cudaError_t e) {
  return e == cudaSuccess ? "no error" : "invalid configuration argument";
}
inline cudaError_t cudaMemsetAsync(void* p, int value, std::size_t bytes, cudaStream_t) {
  emulation::memset_device(p, value, bytes);
  if (emulation::sink()) emulation::sink()([=] { emulation::memset_device(p, value, bytes); });
  return cudaSuccess;
}
struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  std::size_t dynamicSmemBytes = 0;
  cudaStream_t stream = nullptr;
  void* attrs = nullptr;
  unsigned numAttrs = 0;
};
template <class... P, class... A>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* c, void (*kernel)(P...), A&&... arguments) {
  const emulation::Launch launch{
      {c->gridDim.x, c->gridDim.y, c->gridDim.z}, {c->blockDim.x, c->blockDim.y, c->blockDim.z}, c->dynamicSmemBytes};
  if (launch.grid.volume() == 0 || launch.block.volume() == 0) return cudaErrorInvalidConfiguration;
  const std::tuple<P...> copies(static_cast<A&&>(arguments)...);
  emulation::run(launch, [&] { std::apply(kernel, copies); });
  if (emulation::sink()) emulation::sink()([=] { emulation::run(launch, [&] { std::apply(kernel, copies); }); });
  return cudaSuccess;
}

// Synchronisation. Places are lines of the kernel's source.
using EmulatedPlace = std::source_location;
EMULATED void __syncthreads(EmulatedPlace at = EmulatedPlace::current()) { emulation::barrier(at); }
EMULATED void __syncwarp(unsigned mask = 0xFFFFFFFFu, EmulatedPlace at = EmulatedPlace::current()) {
  emulation::warp_barrier(mask, at);
}

template <class T> EMULATED T emulated_shuffle(unsigned mask, T value, int source, const EmulatedPlace& at) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8);
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  const emulation::Lanes& lanes = emulation::exchange(mask, bits, at);
  // beyond the warp's end: one's own value
  if (source < 0 || source > 31) source = static_cast<int>(emulation::lane());
  if (!(mask >> source & 1))
    emulation::fail("a shuffle reads lane " + std::to_string(source) + ", which its mask leaves out");
  std::memcpy(&value, &lanes[source], sizeof(T));
  return value;
}
template <class T> T __shfl_sync(unsigned mask, T value, int source, EmulatedPlace at = EmulatedPlace::current()) {
  return emulated_shuffle(mask, value, source & 31, at);
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, EmulatedPlace at = EmulatedPlace::current()) {
  return emulated_shuffle(mask, value, static_cast<int>(emulation::lane()) - static_cast<int>(delta), at);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, EmulatedPlace at = EmulatedPlace::current()) {
  return emulated_shuffle(mask, value, static_cast<int>(emulation::lane() + delta), at);
}
template <class T> T __shfl_xor_sync(unsigned mask, T value, int with, EmulatedPlace at = EmulatedPlace::current()) {
  return emulated_shuffle(mask, value, static_cast<int>(emulation::lane()) ^ with, at);
}
template <class Combine> EMULATED unsigned emulated_reduce(
    unsigned mask, std::uint64_t value, unsigned start, const Combine& combine, const EmulatedPlace& at) {
  const emulation::Lanes& lanes = emulation::exchange(mask, value, at);
  for (int i = 0; i < 32; ++i)
    if (mask >> i & 1) start = combine(start, static_cast<unsigned>(lanes[i]), i);
  return start;
}
EMULATED unsigned __ballot_sync(unsigned mask, int predicate, EmulatedPlace at = EmulatedPlace::current()) {
  return emulated_reduce(
      mask, predicate != 0, 0, [](unsigned a, unsigned b, int i) { return a | b << i; }, at);
}
EMULATED int __any_sync(unsigned mask, int predicate, EmulatedPlace at = EmulatedPlace::current()) {
  return static_cast<int>(emulated_reduce(
      mask, predicate != 0, 0, [](unsigned a, unsigned b, int) { return a | b; }, at));
}
EMULATED int __all_sync(unsigned mask, int predicate, EmulatedPlace at = EmulatedPlace::current()) {
  return static_cast<int>(emulated_reduce(
      mask, predicate != 0, 1, [](unsigned a, unsigned b, int) { return a & b; }, at));
}
EMULATED unsigned __reduce_max_sync(unsigned mask, unsigned value, EmulatedPlace at = EmulatedPlace::current()) {
  return emulated_reduce(
      mask, value, 0, [](unsigned a, unsigned b, int) { return a > b ? a : b; }, at);
}
EMULATED unsigned __reduce_add_sync(unsigned mask, unsigned value, EmulatedPlace at = EmulatedPlace::current()) {
  return emulated_reduce(
      mask, value, 0, [](unsigned a, unsigned b, int) { return a + b; }, at);
}

// Atomics return the old value.
template <class T, class Change> EMULATED T emulated_atomic(T* p, const Change& change) {
  emulation::note_atomic(p, sizeof(T));
  const T before = *p;
  *p = change(before);
  return before;
}
template <class T> T atomicAdd(T* p, T v) {
  return emulated_atomic(p, [v](T a) { return static_cast<T>(a + v); });
}
template <class T> T atomicMax(T* p, T v) {
  return emulated_atomic(p, [v](T a) { return a > v ? a : v; });
}
template <class T> T atomicMin(T* p, T v) {
  return emulated_atomic(p, [v](T a) { return a < v ? a : v; });
}
template <class T> T atomicOr(T* p, T v) {
  return emulated_atomic(p, [v](T a) { return a | v; });
}
template <class T> T atomicXor(T* p, T v) {
  return emulated_atomic(p, [v](T a) { return a ^ v; });
}

// Arithmetic under CUDA's names.
inline int __popc(unsigned v) { return std::popcount(v); }
inline int __popcll(unsigned long long v) { return std::popcount(v); }
inline int __ffs(int v) { return __builtin_ffs(v); }
inline int __ffsll(long long v) { return __builtin_ffsll(v); }
inline unsigned __float_as_uint(float v) { return std::bit_cast<unsigned>(v); }
inline float __uint_as_float(unsigned v) { return std::bit_cast<float>(v); }
template <class T> constexpr T min(T a, T b) { return b < a ? b : a; }
template <class T> constexpr T max(T a, T b) { return a < b ? b : a; }
