#include "cuda/exports.h"

#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>
#include <nccl.h>
#include <nvtx3/nvToolsExt.h>

#include <string>

#include "cuda/cuda_graphs.h"

namespace {

void* torch_stream(int device) {
  return c10::cuda::getCurrentCUDAStream(static_cast<c10::DeviceIndex>(device)).stream();
}

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

void ttt_cuda_forbid_waits(bool forbidden) {
  c10::cuda::warning_state().set_sync_debug_mode(
      forbidden ? c10::cuda::SyncDebugMode::L_ERROR : c10::cuda::SyncDebugMode::L_DISABLED);
}

void ttt_cuda_bus_id(int device, std::string* id) {
  char text[32] = {};
  if (cudaDeviceGetPCIBusId(text, sizeof text, device) == cudaSuccess) *id = text;
}

void ttt_cuda_profiler_range(const char* name) {
  static thread_local bool open = false;
  if (open) nvtxRangePop();
  nvtxRangePushA(name);
  open = true;
}

const char* ttt_cuda_versions() {
  static const std::string text = describe();
  return text.c_str();
}

}  // extern "C"

static_assert(std::is_same_v<decltype(ttt_cuda_make_nccl), ttt::cuda::MakeNcclFunction>);
static_assert(std::is_same_v<decltype(ttt_cuda_graphs), ttt::cuda::GraphsFunction>);
static_assert(std::is_same_v<decltype(ttt_cuda_forbid_waits), ttt::cuda::ForbidWaitsFunction>);
static_assert(std::is_same_v<decltype(ttt_cuda_bus_id), ttt::cuda::BusIdFunction>);
static_assert(std::is_same_v<decltype(ttt_cuda_profiler_range), ttt::cuda::ProfilerRangeFunction>);
static_assert(std::is_same_v<decltype(ttt_cuda_versions), ttt::cuda::VersionsFunction>);
