// The detection operations, the kernels over the parameters and pinned memory of libttt_cuda.
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>

#include <atomic>
#include <map>
#include <mutex>
#include <type_traits>

#include "models/ops/cuda_exports.h"
#include "models/ops/device_kernels.h"

namespace {

// Memory locked for the process's device. Returned blocks are kept for the next request of their size. Freeing waits
// for the whole device, which a step must not, and memory that is never unmapped can still be read by a copy in flight.
class PinnedMemory final : public std::pmr::memory_resource {
 public:
  void use(c10::DeviceIndex device) { device_ = device; }

 private:
  void* do_allocate(std::size_t bytes, std::size_t) override {  // whole pages
    {
      const std::lock_guard lock(mutex_);
      if (auto kept = kept_.find(bytes); kept != kept_.end()) {
        void* p = kept->second;
        kept_.erase(kept);
        return p;
      }
    }
    const c10::cuda::CUDAGuard guard(device_);  // a loader's thread has none of its own
    void* p = nullptr;
    const cudaError_t error = cudaHostAlloc(&p, bytes, cudaHostAllocDefault);
    if (error != cudaSuccess)
      throw ttt::Error(
          std::to_string(bytes) +
          " bytes of memory could not be locked for copies to the device: " + cudaGetErrorString(error) +
          ". Lower data.prefetch or train.images_per_rank, or raise the limit of locked memory (ulimit -l).");
    return p;
  }
  void do_deallocate(void* p, std::size_t bytes, std::size_t) override {
    const std::lock_guard lock(mutex_);
    kept_.emplace(bytes, p);
  }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

  std::mutex mutex_;
  std::multimap<std::size_t, void*> kept_;  // by size
  std::atomic<c10::DeviceIndex> device_ = 0;
};
PinnedMemory& pinned() {
  static auto& memory = *new PinnedMemory;  // never destroyed: a loader's thread may be the last to return a block
  return memory;
}

}  // namespace

extern "C" {

void ttt_cuda_use_device(int device, ttt::model::DetectionOps* ops, std::string* name) {
  const auto index = static_cast<c10::DeviceIndex>(device);
  c10::cuda::set_device(index);
  // Not the default stream, which cannot be captured and for which other streams wait.
  c10::cuda::setCurrentCUDAStream(c10::cuda::getStreamFromPool(/*isHighPriority=*/false, index));
  pinned().use(index);
  const auto stream = [index] { return c10::cuda::getCurrentCUDAStream(index).stream(); };
  *ops = ttt::model::kernel_ops("cuda", ttt::model::DeviceKernels(at::Device(at::kCUDA, index), stream));
  cudaDeviceProp properties{};
  if (cudaGetDeviceProperties(&properties, device) != cudaSuccess)
    throw ttt::Error(
        "The properties of CUDA device " + std::to_string(device) + " cannot be read. Check it with nvidia-smi.");
  *name = properties.name;
}

void ttt_cuda_parameter_kernels(ttt::model::ParameterKernels* kernels) {
  *kernels = ttt::model::device_parameter_kernels([] { return c10::cuda::getCurrentCUDAStream().stream(); });
}

std::pmr::memory_resource* ttt_cuda_pinned_memory() { return &pinned(); }

}  // extern "C"

static_assert(std::is_same_v<decltype(ttt_cuda_use_device), ttt::model::UseDeviceFunction>);
static_assert(std::is_same_v<decltype(ttt_cuda_pinned_memory), ttt::model::PinnedMemoryFunction>);
static_assert(std::is_same_v<decltype(ttt_cuda_parameter_kernels), ttt::model::ParameterKernelsFunction>);
