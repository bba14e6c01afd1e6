// Opens libttt_cuda, which holds all code that needs CUDA (NCCL, kernels, libtorch_cuda), on machines that can run it.
// Programs themselves link the CPU part of torch only. So one build serves both kinds of machine, and a rank that stays
// on the CPU starts faster and is several hundred MB smaller. No CUDA headers here.
#pragma once

#include <memory>
#include <string>

#include "comm/nccl.h"

namespace ttt::cuda {

class CudaLibrary {
 public:
  CudaLibrary(void* handle, int devices) : handle_(handle), devices_(devices) {}
  int devices() const { return devices_; }  // that this process may use
  std::string versions() const;             // of what was loaded: "CUDA 13.0, NCCL 2.28.9", for the run's record
  // A function that the library exports by a plain name, for those that know its type (exports.h,
  // model/ops/cuda_exports.h).
  template <class Function> Function* function(const char* name) const {
    return reinterpret_cast<Function*>(symbol(name));
  }
  // See comm/nccl.h; `options.current_stream` is set here, to torch's.
  std::unique_ptr<comm::Communicator> make_nccl(comm::Communicator& host, comm::NcclOptions options) const;

 private:
  void* symbol(const char* name) const;

  void* handle_;  // never closed: torch's registrations cannot be taken back
  int devices_;
};

// Call it before torch is first asked about CUDA: torch keeps the answer it gives then.
// Throws NotSupported, with what is missing: the driver, a device, or the library (a build without CUDA).
std::unique_ptr<CudaLibrary> open_cuda_library();

}  // namespace ttt::cuda
