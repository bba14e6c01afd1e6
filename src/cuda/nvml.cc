#include "cuda/nvml.h"

#include <dlfcn.h>

#include <array>
#include <memory>
#include <utility>

#include "core/error.h"

namespace ttt::cuda {
namespace {

// NVML's API reference; its types are plain C and keep their layout from version to version.
using Device = void*;
struct Memory {
  unsigned long long total, free, used;
};
constexpr int kSuccess = 0, kTemperatureOfGpu = 0, kUncorrected = 1, kVolatile = 0;
// nvmlClocksThrottleReasons of which the user should know; others (idle, the power cap, an application's clocks) are part of normal work.
constexpr std::array<std::pair<unsigned long long, const char*>, 4> kSlowdowns = {
    {{0x8, "hardware slowdown"}, {0x20, "heat (software)"}, {0x40, "heat (hardware)"}, {0x80, "power brake"}}};

class Nvml {
 public:
  Nvml() : handle_(::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL), &::dlclose) {
    if (!handle_) throw NotSupported("This node has no NVIDIA driver (libnvidia-ml.so.1 cannot be opened). Without a GPU that is as it should be.");
    require(call<int()>("nvmlInit_v2"), "nvmlInit_v2");
  }
  ~Nvml() { call<int()>("nvmlShutdown"); }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  // The function's status; -1 where this driver has no such function.
  template <class Signature, class... Args>
  int call(const char* name, Args... args) const {
    const auto function = reinterpret_cast<Signature*>(::dlsym(handle_.get(), name));
    return function == nullptr ? -1 : function(args...);
  }
  void require(int status, const char* name) const {
    if (status != kSuccess)
      throw NotSupported(std::string("NVIDIA's driver does not answer (") + name + ": status " + std::to_string(status) + "). Look at nvidia-smi on this node.");
  }

 private:
  std::unique_ptr<void, int (*)(void*)> handle_;
};

GpuHealth health_of(const Nvml& nvml, unsigned index) {
  Device device = nullptr;
  nvml.require(nvml.call<int(unsigned, Device*)>("nvmlDeviceGetHandleByIndex_v2", index, &device), "nvmlDeviceGetHandleByIndex_v2");
  GpuHealth gpu;
  char name[96] = {};
  if (nvml.call<int(Device, char*, unsigned)>("nvmlDeviceGetName", device, name, unsigned{sizeof name}) == kSuccess) gpu.name = name;
  Memory memory{};
  if (nvml.call<int(Device, Memory*)>("nvmlDeviceGetMemoryInfo", device, &memory) == kSuccess) gpu.memory_bytes = static_cast<std::int64_t>(memory.total);
  unsigned long long errors = 0, reasons = 0;
  if (nvml.call<int(Device, int, int, unsigned long long*)>("nvmlDeviceGetTotalEccErrors", device, kUncorrected, kVolatile, &errors) == kSuccess)
    gpu.uncorrected_ecc_errors = static_cast<std::int64_t>(errors);
  unsigned celsius = 0;
  if (nvml.call<int(Device, int, unsigned*)>("nvmlDeviceGetTemperature", device, kTemperatureOfGpu, &celsius) == kSuccess) gpu.temperature_c = static_cast<int>(celsius);
  if (nvml.call<int(Device, unsigned long long*)>("nvmlDeviceGetCurrentClocksThrottleReasons", device, &reasons) == kSuccess)
    for (const auto& [bit, text] : kSlowdowns)
      if (reasons & bit) gpu.slowed_by.emplace_back(text);
  return gpu;
}

}  // namespace

GpuReport gpu_health() {
  const Nvml nvml;
  GpuReport report;
  char driver[96] = {};
  nvml.require(nvml.call<int(char*, unsigned)>("nvmlSystemGetDriverVersion", driver, unsigned{sizeof driver}), "nvmlSystemGetDriverVersion");
  report.driver = driver;
  unsigned count = 0;
  nvml.require(nvml.call<int(unsigned*)>("nvmlDeviceGetCount_v2", &count), "nvmlDeviceGetCount_v2");
  for (unsigned i = 0; i < count; ++i) report.devices.push_back(health_of(nvml, i));
  return report;
}

}  // namespace ttt::cuda
