// launch(), through which every kernel starts, and Workspace, which divides scratch memory. Without nvcc's <<<>>> tests
// can compile a kernel's own source as C++ and execute it on a CPU (tests/support/emulator).
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "core/error.h"

namespace ttt::kernels::cuda {

// Blocks in up to three dimensions, threads in one.
struct Shape {
  std::int64_t x = 1, y = 1, z = 1;
  int threads = 1;
  std::size_t shared = 0;  // dynamic shared memory of a block [byte]
};

// Limits of every device of compute capability 7.5 and later without opting in to more (CUDA C++ Programming Guide,
// "Technical Specifications per Compute Capability"). kMaxShared: dynamic and static shared memory together.
inline constexpr std::int64_t kMaxGridX = 2147483647, kMaxGridYZ = 65535;
inline constexpr int kMaxThreads = 1024;
inline constexpr std::size_t kMaxShared = 48 * 1024;

inline void check_shape(const char* kernel, const Shape& s) {
  const auto refuse = [&](const std::string& what, std::int64_t got, std::int64_t most) {
    throw UsageError("The kernel " + std::string(kernel) + " would need " + std::to_string(got) + " " + what +
                     ", and " + std::to_string(most) +
                     " is the most. Lower the batch, the image size or the number of boxes.");
  };
  if (s.x < 0 || s.x > kMaxGridX) refuse("blocks in x", s.x, kMaxGridX);
  if (s.y < 0 || s.y > kMaxGridYZ) refuse("blocks in y", s.y, kMaxGridYZ);
  if (s.z < 0 || s.z > kMaxGridYZ) refuse("blocks in z", s.z, kMaxGridYZ);
  if (s.threads < 1 || s.threads > kMaxThreads) refuse("threads in a block", s.threads, kMaxThreads);
  if (s.shared > kMaxShared)
    refuse("bytes of shared memory in a block", static_cast<std::int64_t>(s.shared), kMaxShared);
}

// Starts kernel(arguments...) on `stream`; a shape without blocks starts nothing. Errors: UsageError for a shape that
// no device takes, Error where the run time refuses, both with the kernel's name. Later errors show at the stream's
// next synchronisation.
template <class... Parameters, class... Arguments>
void launch(const char* name, void (*kernel)(Parameters...), const Shape& s, cudaStream_t stream,
            Arguments&&... arguments) {
  check_shape(name, s);
  if (s.x == 0 || s.y == 0 || s.z == 0) return;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(s.x), static_cast<unsigned>(s.y), static_cast<unsigned>(s.z));
  config.blockDim = dim3(static_cast<unsigned>(s.threads));
  config.dynamicSmemBytes = s.shared;
  config.stream = stream;
  const cudaError_t error = cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)...);
  if (error != cudaSuccess)
    throw Error("The kernel " + std::string(name) + " did not start: " + cudaGetErrorString(error) +
                ". Check that the device's architecture is among those of the build.");
}

inline void clear(void* memory, std::size_t bytes, cudaStream_t stream) {
  const cudaError_t error = cudaMemsetAsync(memory, 0, bytes, stream);
  if (error != cudaSuccess)
    throw Error("Memory of the device could not be cleared: " + std::string(cudaGetErrorString(error)) +
                ". See the errors before this one.");
}

inline std::int64_t blocks_for(std::int64_t items, std::int64_t per_block) {
  return (items + per_block - 1) / per_block;
}

// The dynamic shared memory of the block, aligned for every type used here.
template <class T>
__device__ T* dynamic_shared() {
#ifdef __CUDACC__
  extern __shared__ float4 ttt_dynamic_shared[];
  return reinterpret_cast<T*>(ttt_dynamic_shared);
#else
  return static_cast<T*>(emulation::dynamic_shared());
#endif
}

// Arrays in one allocation, each at a multiple of 256 bytes. With a null base it only measures: one function gives both
// the arrays' places and the bytes that they take.
class Workspace {
 public:
  explicit Workspace(void* base) : base_(static_cast<unsigned char*>(base)) {}
  template <class T>
  T* take(std::int64_t n) {
    T* array = base_ == nullptr ? nullptr : reinterpret_cast<T*>(base_ + used_);
    used_ += (static_cast<std::size_t>(n) * sizeof(T) + 255) / 256 * 256;
    return array;
  }
  std::size_t bytes() const { return used_; }

 private:
  unsigned char* base_;
  std::size_t used_ = 0;
};

// Bytes of the arrays that arrays_in(p, workspace) takes.
template <class Arrays, class Params>
std::size_t workspace_bytes(Arrays (*arrays_in)(const Params&, Workspace&&), const Params& p) {
  Workspace memory(nullptr);
  arrays_in(p, std::move(memory));
  return memory.bytes();
}

}  // namespace ttt::kernels::cuda
