// A device for tests on machines without one. Tensors on it obey torch's rules for devices, their memory is the
// emulation's (tests/emulation), and whenever the host must wait for a value of theirs it is counted. Operations are
// computed by torch's CPU kernels, so their bits are a CPU's.
//
// What counts as a wait is what stops the host on a CUDA device. Reading a number (item()), blocking copies, copies
// between the device and memory that is not pinned, and operations with a data-dependent shape. Such are nonzero,
// masked_select and indexing by a mask. Waiting for an event does not count: it is how the host asks for the step
// before (its losses, its batch's memory).
//
// It has two streams (streams.h): copies that the host does not wait for come as late as events allow.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <memory_resource>
#include <string>

#include "cuda/graphs.h"

namespace ttt::test {

at::Device fake_device();

// While it is busy no event of it has come: who asks for one is told so, and who waits for one waits.
void set_busy(bool busy);

// Memory of the host from and to which the device copies without the host waiting.
std::pmr::memory_resource* locked_memory();

// By operation, since the last reset_waits().
std::map<std::string, std::int64_t> waits();
void reset_waits();

// Sums that a CUDA device takes in any order, by operation, since the last reset_unordered_sums(): operations that add
// with atomics. Those that add by an index count where two numbers other than zero meet in one element: zeros change no
// bit in whichever order they come.
std::map<std::string, std::int64_t> unordered_sums();
void reset_unordered_sums();

// Tensors whose memory went back while a stream used it that neither took it nor was told of (record_stream): the next
// owner would write into it at any time.
std::int64_t early_returns();

// From now on such an operation as waits() counts throws instead of being counted.
void forbid_waits(bool forbidden);

// Records operations and kernels as CUDA does: captured work is not executed, so memory stays as before. A replay
// executes it on the same memory with the host's numbers of the capture. Operations that would make the host wait
// cannot be captured.
cuda::GraphDevice& fake_graphs();

}  // namespace ttt::test
