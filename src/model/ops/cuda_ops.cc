// Part of libttt_cuda.
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>

#include <type_traits>

#include "model/ops/cuda_exports.h"
#include "model/ops/device_kernels.h"

namespace {

class PinnedMemory final : public std::pmr::memory_resource {
  void* do_allocate(std::size_t bytes, std::size_t) override {  // pages
    void* p = nullptr;
    const cudaError_t error = cudaHostAlloc(&p, bytes, cudaHostAllocDefault);
    if (error != cudaSuccess)
      throw ttt::Error(std::to_string(bytes) + " bytes of memory could not be locked for copies to the device: " + cudaGetErrorString(error) +
                       ". Lower data.prefetch or train.images_per_rank, or raise the limit of locked memory (ulimit -l).");
    return p;
  }
  void do_deallocate(void* p, std::size_t, std::size_t) override { cudaFreeHost(p); }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};

}  // namespace

extern "C" {

void ttt_cuda_use_device(int device, ttt::model::DetectionOps* ops, std::string* name) {
  const auto index = static_cast<c10::DeviceIndex>(device);
  c10::cuda::set_device(index);
  *ops = ttt::model::kernel_ops("cuda", ttt::model::DeviceKernels(at::Device(at::kCUDA, index), [index] { return c10::cuda::getCurrentCUDAStream(index).stream(); }));
  cudaDeviceProp properties{};
  if (cudaGetDeviceProperties(&properties, device) != cudaSuccess) throw ttt::Error("The properties of CUDA device " + std::to_string(device) + " cannot be read. Check it with nvidia-smi.");
  *name = properties.name;
}

void ttt_cuda_sgd(const ttt::kernels::SgdParams& p, std::int64_t n, const float* grad, float* momentum, float* weight) {
  ttt::kernels::cuda::sgd(p, n, grad, momentum, weight, c10::cuda::getCurrentCUDAStream().stream());
}

std::pmr::memory_resource* ttt_cuda_pinned_memory() {
  static PinnedMemory memory;
  return &memory;
}

}  // extern "C"

static_assert(std::is_same_v<decltype(ttt_cuda_use_device), ttt::model::UseDeviceFunction>);
static_assert(std::is_same_v<decltype(ttt_cuda_pinned_memory), ttt::model::PinnedMemoryFunction>);
static_assert(std::is_same_v<decltype(ttt_cuda_sgd), ttt::model::SgdFunction>);
