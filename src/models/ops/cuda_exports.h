// Functions of libttt_cuda (cuda/loader.h) for callers that link torch: detection and parameter kernels on a device.
// Library and program come from one build, so C++ types may cross. The names are plain for dlsym.
#pragma once

#include <memory_resource>

#include "models/ops/detection_ops.h"
#include "models/ops/parameter_kernels.h"

namespace ttt::model {

// Makes `device` the calling thread's current one, and a stream of its own the current one there.
// out: *ops the CUDA kernels on it, *name the device's name
using UseDeviceFunction = void(int device, DetectionOps* ops, std::string* name);
inline constexpr const char* kUseDeviceName = "ttt_cuda_use_device";

// out: *kernels those over the parameters, on torch's current stream
using ParameterKernelsFunction = void(ParameterKernels* kernels);
inline constexpr const char* kParameterKernelsName = "ttt_cuda_parameter_kernels";

// Memory of the host that is locked for copies by the device that was made the current one. Lives as long as the
// process.
using PinnedMemoryFunction = std::pmr::memory_resource*();
inline constexpr const char* kPinnedMemoryName = "ttt_cuda_pinned_memory";

}  // namespace ttt::model
