// Functions that libttt_cuda (cuda/loader.h) exports to programs with torch: the detection operations and the kernels
// over the parameters, on a device. Library and program come from one build, so C++ types may cross; the names are
// plain so that dlsym finds them.
#pragma once

#include <memory_resource>

#include "kernels/sgd/sgd.h"
#include "kernels/squared_norms/squared_norms.h"
#include "models/ops/detection_ops.h"

namespace ttt::model {

// Makes `device` the calling thread's current one, and a stream of its own the current one there.
// out: *ops the CUDA kernels on it, *name the device's name
using UseDeviceFunction = void(int device, DetectionOps* ops, std::string* name);
inline constexpr const char* kUseDeviceName = "ttt_cuda_use_device";

// Kernels on torch's current stream.
using SgdFunction = void(float momentum, const kernels::SgdTensor* tensors, std::int64_t count, std::int64_t largest,
                         const kernels::SgdControl& control);
inline constexpr const char* kSgdName = "ttt_cuda_sgd";
using FindNonfiniteFunction = void(const kernels::SgdTensor* tensors, std::int64_t count, std::int64_t largest,
                                   std::int32_t* found);
inline constexpr const char* kFindNonfiniteName = "ttt_cuda_find_nonfinite";
using SquaredNormsFunction = void(const kernels::NormGroups& groups, const float* gradient, const float* before,
                                  const float* after, kernels::SquaredNorms* partial, kernels::SquaredNorms* out);
inline constexpr const char* kSquaredNormsName = "ttt_cuda_squared_norms";

// Memory of the host that is locked for copies by the device that was made the current one. Lives as long as the
// process.
using PinnedMemoryFunction = std::pmr::memory_resource*();
inline constexpr const char* kPinnedMemoryName = "ttt_cuda_pinned_memory";

}  // namespace ttt::model
