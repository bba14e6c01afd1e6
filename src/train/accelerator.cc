#include "train/accelerator.h"

#include "core/error.h"
#include "cuda/loader.h"
#include "model/ops/cuda_exports.h"

namespace ttt::train {
namespace {

Accelerator open_cuda(const comm::Team& team) {
  const std::shared_ptr<const cuda::CudaLibrary> library = cuda::open_cuda_library();
  if (team.local_size > library->devices())
    throw NotSupported("device = \"cuda\": " + std::to_string(team.local_size) + " ranks on this node, and " + std::to_string(library->devices()) +
                       " GPUs that they may use. Start one rank for each GPU.");
  const int index = team.local_rank;
  Accelerator a{.device = at::Device(at::kCUDA, static_cast<at::DeviceIndex>(index))};
  library->function<model::UseDeviceFunction>(model::kUseDeviceName)(index, &a.ops, &a.name);
  a.sgd = library->function<model::SgdFunction>(model::kSgdName);
  a.memory = library->function<model::PinnedMemoryFunction>(model::kPinnedMemoryName)();
  a.communicator = [library, index](comm::Communicator& host) { return library->make_nccl(host, {.device = index}); };
  return a;
}

}  // namespace

Accelerator open_accelerator(const std::string& device, const comm::Team& team, std::shared_ptr<ThreadPool> pool) {
  if (device == "cuda") return open_cuda(team);
  return {.ops = model::host_ops(std::move(pool))};
}

}  // namespace ttt::train
