// What libttt_cuda (cuda/loader.h) offers to those that have torch: the detection operations and the optimiser's update on a device. Library and program
// come from one build, so types of C++ may cross; the names are plain so that dlsym finds them.
#pragma once

#include <memory_resource>

#include "kernels/params.h"
#include "model/ops/detection_ops.h"

namespace ttt::model {

// Makes `device` the calling thread's current one; *ops: kernels/cuda on it, *name: what the device calls itself.
using UseDeviceFunction = void(int device, DetectionOps* ops, std::string* name);
inline constexpr const char* kUseDeviceName = "ttt_cuda_use_device";

// kernels/cuda/detection.h: sgd, on torch's current stream.
using SgdFunction = void(const kernels::SgdParams& p, std::int64_t n, const float* grad, float* momentum, float* weight);
inline constexpr const char* kSgdName = "ttt_cuda_sgd";

// Memory of the host that is locked for copies by the device that was made the current one. Lives as long as the process.
using PinnedMemoryFunction = std::pmr::memory_resource*();
inline constexpr const char* kPinnedMemoryName = "ttt_cuda_pinned_memory";

}  // namespace ttt::model
