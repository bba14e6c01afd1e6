#include "run/accelerator.h"

#include "cuda/devices.h"
#include "cuda/exports.h"
#include "cuda/loader.h"
#include "models/ops/cuda_exports.h"

namespace ttt::train {
namespace {

Accelerator open_cuda(const comm::Team& team) {
  const std::shared_ptr<const cuda::CudaLibrary> library = cuda::open_cuda_library();
  const int index = cuda::device_of_rank(library->devices(), team.local_rank, team.local_size);
  Accelerator a{.device = at::Device(at::kCUDA, static_cast<at::DeviceIndex>(index))};
  library->function<model::UseDeviceFunction>(model::kUseDeviceName)(index, &a.ops, &a.name);
  library->function<cuda::BusIdFunction>(cuda::kBusIdName)(index, &a.bus_id);
  library->function<model::ParameterKernelsFunction>(model::kParameterKernelsName)(&a.parameters);
  a.graphs = library->function<cuda::GraphsFunction>(cuda::kGraphsName)();
  a.announce_phase = library->function<cuda::ProfilerRangeFunction>(cuda::kProfilerRangeName);
  a.forbid_waits = library->function<cuda::ForbidWaitsFunction>(cuda::kForbidWaitsName);
  a.activity = library->function<cuda::ActivityLogFunction>(cuda::kActivityLogName)();
  a.memory = library->function<model::PinnedMemoryFunction>(model::kPinnedMemoryName)();
  a.communicator = [library, index, limit_s = team.timeout_s](
                       comm::Communicator& host, const comm::NcclTuning& tuning) {
    return library->make_nccl(host, {.device = index, .timeout_s = limit_s, .tuning = tuning});
  };
  return a;
}

}  // namespace

Accelerator open_accelerator(const std::string& device, const comm::Team& team, std::shared_ptr<ThreadPool> pool) {
  if (device == "cuda") return open_cuda(team);
  return {.ops = model::host_ops(std::move(pool))};
}

}  // namespace ttt::train
