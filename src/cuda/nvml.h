// The health of the node's GPUs and what they do, as NVIDIA's driver tells it through NVML: no CUDA context is made, no
// CUDA library is needed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ttt::cuda {

struct GpuHealth {
  std::string name;
  std::int64_t memory_bytes = 0;
  std::int64_t uncorrected_ecc_errors = -1;  // since the driver was loaded; -1: the device does not count them
  int temperature_c = -1;                    // -1: not told
  // why its clock is below what it could be, where that is a fault: heat, power brake, hardware
  std::vector<std::string> slowed_by;
};

struct GpuReport {
  std::string driver;
  std::vector<GpuHealth> devices;
};

// Throws NotSupported, with what is missing, where there is no driver (libnvidia-ml.so.1) or it does not answer.
GpuReport gpu_health();

// At a moment; -1: not told.
struct GpuMoment {
  double power_w = -1;
  int sm_clock_mhz = -1, busy_percent = -1, temperature_c = -1;
  std::int64_t memory_bytes = -1;      // in use
  std::vector<std::string> slowed_by;  // GpuHealth's
};

// One GPU, to be looked at again and again: the driver is asked, and nothing is put on the GPU.
class GpuMeter {
 public:
  // pci_bus_id: as CUDA tells it ("0000:65:00.0"). Throws NotSupported as gpu_health().
  explicit GpuMeter(const std::string& pci_bus_id);
  ~GpuMeter();
  GpuMoment look() const;
  double energy_j() const;  // since the driver was loaded; -1: the device does not count it

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ttt::cuda
