#include "cuda/loader.h"

#include <dlfcn.h>

#include <filesystem>

#include "core/error.h"
#include "cuda/devices.h"
#include "cuda/exports.h"

namespace ttt::cuda {

std::unique_ptr<CudaLibrary> open_cuda_library() {
  const auto devices = static_cast<int>(visible_devices().size());
  // Beside the program (build/bin, build/tests -> build/lib), else wherever the dynamic linker finds it.
  const std::filesystem::path beside =
      std::filesystem::read_symlink("/proc/self/exe").parent_path() / "../lib/libttt_cuda.so";
  const bool there = std::filesystem::exists(beside);
  void* handle = dlopen(there ? beside.c_str() : "libttt_cuda.so", RTLD_NOW | RTLD_GLOBAL);
  if (handle == nullptr)
    throw NotSupported(std::string("device=cuda: libttt_cuda.so cannot be opened (") + dlerror() +
                       "). Build with TTT_CUDA=ON where nvcc is installed, or set device=cpu.");
  return std::make_unique<CudaLibrary>(handle, devices);
}

void* CudaLibrary::symbol(const char* name) const {
  void* found = dlsym(handle_, name);
  if (found == nullptr)
    throw NotSupported(std::string("libttt_cuda.so has no ") + name + ": it is of another version. Build it again.");
  return found;
}

std::string CudaLibrary::versions() const { return function<VersionsFunction>(kVersionsName)(); }

std::unique_ptr<comm::Communicator> CudaLibrary::make_nccl(comm::Communicator& host, comm::NcclOptions options) const {
  return std::unique_ptr<comm::Communicator>(function<MakeNcclFunction>(kMakeNcclName)(host, options));
}

}  // namespace ttt::cuda
