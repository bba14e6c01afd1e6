// The communicator for device memory. Its code is part of libttt_cuda, which programs open through cuda/loader.h: this
// header needs neither CUDA nor NCCL.
#pragma once

#include "comm/communicator.h"
#include "comm/nccl_tuning.h"

namespace ttt::comm {

struct NcclOptions {
  int device = 0;
  // A collective that is not complete so long after it was started aborts the communicator; every later call throws.
  double timeout_s = 600;
  // The stream (a cudaStream_t) whose work a collective follows and that wait() holds back: that of the calling thread.
  void* (*current_stream)(int device) = nullptr;
  // of several ranks; throws NotSupported in the first all-reduce that goes another way, on rank 0, which alone is told
  NcclTuning tuning = {};
};

// Collective over `host`, which carries the unique id, strings and barriers, and must outlive the result. One rank per
// device. Buffers are device memory of `options.device`. Nothing here blocks the calling thread but the constructor,
// barrier() and gather(): "blocking" collectives are ordered in the current stream, and so is Work::wait().
// Differs from the host communicators: sums are taken in NCCL's order, and all_reduce_max drops NaNs.
// Throws NotSupported where the NCCL that was loaded is not the one this was compiled for, Error where NCCL fails.
std::unique_ptr<Communicator> make_nccl(Communicator& host, const NcclOptions& options);

}  // namespace ttt::comm
