// The health of the node's GPUs, as NVIDIA's driver tells it through NVML: no CUDA context is made, no CUDA library is needed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ttt::cuda {

struct GpuHealth {
  std::string name;
  std::int64_t memory_bytes = 0;
  std::int64_t uncorrected_ecc_errors = -1;  // since the driver was loaded; -1: the device does not count them
  int temperature_c = -1;                    // -1: not told
  std::vector<std::string> slowed_by;        // why its clock is below what it could be, where that is a fault: heat, power brake, hardware
};

struct GpuReport {
  std::string driver;
  std::vector<GpuHealth> devices;
};

// Throws NotSupported, with what is missing, where there is no driver (libnvidia-ml.so.1) or it does not answer.
GpuReport gpu_health();

}  // namespace ttt::cuda
