// The functions that libttt_cuda offers by name. Library and program come from one build, so types of C++ may cross;
// the names are plain so that dlsym finds them.
#pragma once

#include <string>

#include "comm/nccl.h"
#include "cuda/activity.h"
#include "cuda/graphs.h"

namespace ttt::cuda {

// The caller owns the result. options.current_stream is replaced by torch's.
using MakeNcclFunction = comm::Communicator*(comm::Communicator& host, const comm::NcclOptions& options);
inline constexpr const char* kMakeNcclName = "ttt_cuda_make_nccl";

// Of the device that the calling thread made its current one; lives as long as the process.
using GraphsFunction = GraphDevice*();
inline constexpr const char* kGraphsName = "ttt_cuda_graphs";

// Whether an operation of torch that makes the host wait for the device throws, from now on and on every thread.
using ForbidWaitsFunction = void(bool forbidden);
inline constexpr const char* kForbidWaitsName = "ttt_cuda_forbid_waits";

// *id: as NVML knows the device, "0000:65:00.0".
using BusIdFunction = void(int device, std::string* id);
inline constexpr const char* kBusIdName = "ttt_cuda_bus_id";

// Begins a range of this name for NVIDIA's profilers (NVTX) on the calling thread, and ends the one before. Without a
// profiler: two calls of nothing.
using ProfilerRangeFunction = void(const char* name);
inline constexpr const char* kProfilerRangeName = "ttt_cuda_profiler_range";

// Lives as long as the process.
using ActivityLogFunction = ActivityLog*();
inline constexpr const char* kActivityLogName = "ttt_cuda_activity_log";

// Text that lives as long as the library.
using VersionsFunction = const char*();
inline constexpr const char* kVersionsName = "ttt_cuda_versions";

}  // namespace ttt::cuda
