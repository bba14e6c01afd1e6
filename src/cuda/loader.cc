#include "cuda/loader.h"

#include <dlfcn.h>

#include <filesystem>

#include "core/error.h"
#include "cuda/exports.h"

namespace ttt::cuda {
namespace {

constexpr const char* kRemedy = " Run on a machine with an NVIDIA GPU and its driver, or set device=cpu.";

// Asks the driver itself, by the two entry points of the driver API that need nothing else.
int count_devices() {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  if (driver == nullptr)
    throw NotSupported(std::string("device=cuda: this machine has no CUDA driver (") + dlerror() + ")." + kRemedy);
  const auto init = reinterpret_cast<int (*)(unsigned)>(dlsym(driver, "cuInit"));
  const auto count = reinterpret_cast<int (*)(int*)>(dlsym(driver, "cuDeviceGetCount"));
  int devices = 0, status = -1;
  if (init != nullptr && count != nullptr) {
    status = init(0);
    if (status == 0) status = count(&devices);
  }
  if (status != 0 || devices == 0)
    throw NotSupported("device=cuda: the CUDA driver finds no device here (status " + std::to_string(status) + ")." + kRemedy);
  return devices;
}

}  // namespace

std::unique_ptr<CudaLibrary> open_cuda_library() {
  const int devices = count_devices();
  // Beside the program (build/bin, build/tests -> build/lib), else wherever the dynamic linker finds it.
  const std::filesystem::path beside = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "../lib/libttt_cuda.so";
  const bool there = std::filesystem::exists(beside);
  void* handle = dlopen(there ? beside.c_str() : "libttt_cuda.so", RTLD_NOW | RTLD_GLOBAL);
  if (handle == nullptr)
    throw NotSupported(std::string("device=cuda: libttt_cuda.so cannot be opened (") + dlerror() +
                       "). Build with TTT_CUDA=ON where nvcc is installed, or set device=cpu.");
  return std::make_unique<CudaLibrary>(handle, devices);
}

void* CudaLibrary::symbol(const char* name) const {
  void* found = dlsym(handle_, name);
  if (found == nullptr) throw NotSupported(std::string("libttt_cuda.so has no ") + name + ": it is of another version. Build it again.");
  return found;
}

std::string CudaLibrary::versions() const { return function<VersionsFunction>(kVersionsName)(); }

std::unique_ptr<comm::Communicator> CudaLibrary::make_nccl(comm::Communicator& host, comm::NcclOptions options) const {
  return std::unique_ptr<comm::Communicator>(function<MakeNcclFunction>(kMakeNcclName)(host, options));
}

}  // namespace ttt::cuda
