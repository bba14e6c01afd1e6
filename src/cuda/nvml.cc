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
struct Utilization {
  unsigned gpu, memory;
};
constexpr int kSuccess = 0, kTemperatureOfGpu = 0, kClockOfSm = 1, kUncorrected = 1, kVolatile = 0;
// nvmlClocksThrottleReasons of which the user should know; others (idle, the power cap, an application's clocks) are
// part of normal work.
constexpr std::array<std::pair<unsigned long long, const char*>, 4> kSlowdowns = {
    {{0x8, "hardware slowdown"}, {0x20, "heat (software)"}, {0x40, "heat (hardware)"}, {0x80, "power brake"}}};

}  // namespace

// Named, since GpuMeter::State has one.
class Nvml {
 public:
  Nvml() : handle_(::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL), &::dlclose) {
    if (!handle_) throw NotSupported("This node has no NVIDIA driver (libnvidia-ml.so.1 cannot be opened).");
    require(call<int()>("nvmlInit_v2"), "nvmlInit_v2");
  }
  ~Nvml() { call<int()>("nvmlShutdown"); }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  // The function's status; -1 where this driver has no such function.
  template <class Signature, class... Args> int call(const char* name, Args... args) const {
    const auto function = reinterpret_cast<Signature*>(::dlsym(handle_.get(), name));
    return function == nullptr ? -1 : function(args...);
  }
  void require(int status, const char* name) const {
    if (status != kSuccess)
      throw NotSupported(std::string("NVIDIA's driver does not answer (") + name + ": status " +
                         std::to_string(status) + "). Look at nvidia-smi on this node.");
  }

 private:
  std::unique_ptr<void, int (*)(void*)> handle_;
};

namespace {

std::vector<std::string> slowed_by(const Nvml& nvml, Device device) {
  std::vector<std::string> reasons;
  unsigned long long bits = 0;
  if (nvml.call<int(Device, unsigned long long*)>("nvmlDeviceGetCurrentClocksThrottleReasons", device, &bits) ==
      kSuccess)
    for (const auto& [bit, text] : kSlowdowns)
      if (bits & bit) reasons.emplace_back(text);
  return reasons;
}

int temperature_c(const Nvml& nvml, Device device) {
  unsigned celsius = 0;
  const bool told = nvml.call<int(Device, int, unsigned*)>(
                        "nvmlDeviceGetTemperature", device, kTemperatureOfGpu, &celsius) == kSuccess;
  return told ? static_cast<int>(celsius) : -1;
}

GpuHealth health_of(const Nvml& nvml, unsigned index) {
  Device device = nullptr;
  nvml.require(nvml.call<int(unsigned, Device*)>("nvmlDeviceGetHandleByIndex_v2", index, &device),
      "nvmlDeviceGetHandleByIndex_v2");
  GpuHealth gpu;
  char name[96] = {};
  if (nvml.call<int(Device, char*, unsigned)>("nvmlDeviceGetName", device, name, unsigned{sizeof name}) == kSuccess)
    gpu.name = name;
  Memory memory{};
  if (nvml.call<int(Device, Memory*)>("nvmlDeviceGetMemoryInfo", device, &memory) == kSuccess)
    gpu.memory_bytes = static_cast<std::int64_t>(memory.total);
  unsigned long long errors = 0;
  if (nvml.call<int(Device, int, int, unsigned long long*)>(
          "nvmlDeviceGetTotalEccErrors", device, kUncorrected, kVolatile, &errors) == kSuccess)
    gpu.uncorrected_ecc_errors = static_cast<std::int64_t>(errors);
  gpu.temperature_c = temperature_c(nvml, device);
  gpu.slowed_by = slowed_by(nvml, device);
  return gpu;
}

}  // namespace

GpuReport gpu_health() {
  const Nvml nvml;
  GpuReport report;
  char driver[96] = {};
  nvml.require(nvml.call<int(char*, unsigned)>("nvmlSystemGetDriverVersion", driver, unsigned{sizeof driver}),
      "nvmlSystemGetDriverVersion");
  report.driver = driver;
  unsigned count = 0;
  nvml.require(nvml.call<int(unsigned*)>("nvmlDeviceGetCount_v2", &count), "nvmlDeviceGetCount_v2");
  for (unsigned i = 0; i < count; ++i) report.devices.push_back(health_of(nvml, i));
  return report;
}

struct GpuMeter::State {
  Nvml nvml;
  Device device = nullptr;
};

GpuMeter::GpuMeter(const std::string& pci_bus_id) : state_(std::make_unique<State>()) {
  constexpr const char* kFind = "nvmlDeviceGetHandleByPciBusId_v2";
  state_->nvml.require(state_->nvml.call<int(const char*, Device*)>(kFind, pci_bus_id.c_str(), &state_->device), kFind);
}
GpuMeter::~GpuMeter() = default;

GpuMoment GpuMeter::look() const {
  const Nvml& nvml = state_->nvml;
  const Device device = state_->device;
  GpuMoment now{.temperature_c = temperature_c(nvml, device), .slowed_by = slowed_by(nvml, device)};
  unsigned milliwatts = 0, mhz = 0;
  Utilization busy{};
  Memory memory{};
  if (nvml.call<int(Device, unsigned*)>("nvmlDeviceGetPowerUsage", device, &milliwatts) == kSuccess)
    now.power_w = milliwatts * 1e-3;
  if (nvml.call<int(Device, int, unsigned*)>("nvmlDeviceGetClockInfo", device, kClockOfSm, &mhz) == kSuccess)
    now.sm_clock_mhz = static_cast<int>(mhz);
  if (nvml.call<int(Device, Utilization*)>("nvmlDeviceGetUtilizationRates", device, &busy) == kSuccess)
    now.busy_percent = static_cast<int>(busy.gpu);
  if (nvml.call<int(Device, Memory*)>("nvmlDeviceGetMemoryInfo", device, &memory) == kSuccess)
    now.memory_bytes = static_cast<std::int64_t>(memory.used);
  return now;
}

double GpuMeter::energy_j() const {
  unsigned long long millijoules = 0;
  const bool told = state_->nvml.call<int(Device, unsigned long long*)>(
                        "nvmlDeviceGetTotalEnergyConsumption", state_->device, &millijoules) == kSuccess;
  return told ? static_cast<double>(millijoules) * 1e-3 : -1;
}

}  // namespace ttt::cuda
