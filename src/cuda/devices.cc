#include "cuda/devices.h"

#include <dlfcn.h>

#include "core/error.h"

namespace ttt::cuda {
namespace {

constexpr const char* kRemedy = " Run on a machine with an NVIDIA GPU and its driver, or set device=cpu.";

// CUresult and CUdevice are ints.
struct Driver {
  int (*init)(unsigned) = nullptr;
  int (*count)(int*) = nullptr;
  int (*bus_id)(char*, int, int) = nullptr;
};

Driver open_driver() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr)
    throw NotSupported(std::string("device=cuda: this machine has no CUDA driver (") + dlerror() + ")." + kRemedy);
  Driver d;
  d.init = reinterpret_cast<int (*)(unsigned)>(dlsym(library, "cuInit"));
  d.count = reinterpret_cast<int (*)(int*)>(dlsym(library, "cuDeviceGetCount"));
  d.bus_id = reinterpret_cast<int (*)(char*, int, int)>(dlsym(library, "cuDeviceGetPCIBusId"));
  if (d.init == nullptr || d.count == nullptr || d.bus_id == nullptr)
    throw NotSupported(std::string("device=cuda: libcuda.so.1 is no CUDA driver: it lacks entry points.") + kRemedy);
  return d;
}

}  // namespace

std::vector<std::string> visible_devices() {
  const Driver driver = open_driver();
  int devices = 0, status = driver.init(0);
  if (status == 0) status = driver.count(&devices);
  if (status != 0 || devices == 0)
    throw NotSupported(
        "device=cuda: the CUDA driver finds no device here (status " + std::to_string(status) + ")." + kRemedy);
  std::vector<std::string> ids;
  for (int i = 0; i < devices; ++i) {  // a device's handle is its ordinal
    char id[32] = {};
    if (const int failed = driver.bus_id(id, sizeof id, i); failed != 0)
      throw NotSupported("device=cuda: the CUDA driver does not tell the PCI bus id of device " + std::to_string(i) +
                         " (status " + std::to_string(failed) + ")." + kRemedy);
    ids.emplace_back(id);
  }
  return ids;
}

int device_of_rank(int devices, int local_rank, int local_size) {
  if (devices == 1) return 0;
  if (local_size > devices)
    throw NotSupported("device = \"cuda\": " + std::to_string(local_size) + " ranks on this node, and " +
                       std::to_string(devices) + " GPUs that they may use. Start one rank for each GPU.");
  return local_rank;
}

}  // namespace ttt::cuda
