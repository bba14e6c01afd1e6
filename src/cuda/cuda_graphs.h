// Part of libttt_cuda.
#pragma once

#include "cuda/graphs.h"

namespace ttt::cuda {

// Recorded through torch, whose allocator gives the work memory of its own. One pool for all graphs of the process,
// which are replayed in the order in which they were recorded; another after each recording that failed.
GraphDevice& cuda_graphs();

}  // namespace ttt::cuda
