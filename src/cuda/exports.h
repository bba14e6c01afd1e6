// The functions that libttt_cuda offers by name. Library and program come from one build, so types of C++ may cross;
// the names are plain so that dlsym finds them.
#pragma once

#include "comm/nccl.h"
#include "cuda/graphs.h"

namespace ttt::cuda {

// The caller owns the result. options.current_stream is replaced by torch's.
using MakeNcclFunction = comm::Communicator*(comm::Communicator& host, const comm::NcclOptions& options);
inline constexpr const char* kMakeNcclName = "ttt_cuda_make_nccl";

// Of the device that the calling thread made its current one; lives as long as the process.
using GraphsFunction = GraphDevice*();
inline constexpr const char* kGraphsName = "ttt_cuda_graphs";

// Text that lives as long as the library.
using VersionsFunction = const char*();
inline constexpr const char* kVersionsName = "ttt_cuda_versions";

}  // namespace ttt::cuda
