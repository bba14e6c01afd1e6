#include "cuda/exports.h"

#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>
#include <nccl.h>

#include <string>

#include "cuda/cuda_graphs.h"

namespace {

void* torch_stream(int device) { return c10::cuda::getCurrentCUDAStream(static_cast<c10::DeviceIndex>(device)).stream(); }

std::string describe() {
  int runtime = 0, driver = 0, nccl = 0;
  cudaRuntimeGetVersion(&runtime);
  cudaDriverGetVersion(&driver);
  ncclGetVersion(&nccl);
  auto dotted = [](int v) { return std::to_string(v / 1000) + "." + std::to_string(v % 1000 / 10); };
  return "CUDA " + dotted(runtime) + " (driver " + dotted(driver) + "), NCCL " + std::to_string(nccl / 10000) + "." +
         std::to_string(nccl / 100 % 100) + "." + std::to_string(nccl % 100);
}

}  // namespace

extern "C" {

ttt::comm::Communicator* ttt_cuda_make_nccl(ttt::comm::Communicator& host, const ttt::comm::NcclOptions& options) {
  ttt::comm::NcclOptions with_stream = options;
  with_stream.current_stream = torch_stream;
  return ttt::comm::make_nccl(host, with_stream).release();
}

ttt::cuda::GraphDevice* ttt_cuda_graphs() { return &ttt::cuda::cuda_graphs(); }

const char* ttt_cuda_versions() {
  static const std::string text = describe();
  return text.c_str();
}

}  // extern "C"

static_assert(std::is_same_v<decltype(ttt_cuda_make_nccl), ttt::cuda::MakeNcclFunction>);
static_assert(std::is_same_v<decltype(ttt_cuda_graphs), ttt::cuda::GraphsFunction>);
static_assert(std::is_same_v<decltype(ttt_cuda_versions), ttt::cuda::VersionsFunction>);
