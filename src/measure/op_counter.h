// Counts of a piece of tensor code: operator calls, floating-point operations, device synchronisations, memory
// allocated. They describe the work and not the machine, so they explain why one variant of a step is faster.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace c10 {
class DebugInfoGuard;
}

namespace ttt::roofline {

struct OpCounts {
  // Operators called from outside of any other operator, those of backward included: what a graph or a fused kernel
  // would save.
  std::int64_t calls = 0;
  // Convolutions and matrix products, forward and backward; a multiply-add is two. torch.utils.flop_counter's
  // convention, but for the weights' gradient of a grouped convolution, which it overstates by the number of groups.
  std::int64_t flops = 0;
  // Synchronising operators by name: scalar reads, outputs of unknown size, blocking copies to the host. Nested calls
  // count once. They are counted on a CPU too, where they wait for nothing.
  std::map<std::string, std::int64_t> sync_points;
  std::int64_t allocations = 0, allocated_bytes = 0;  // of tensors, on any device
  std::int64_t peak_bytes = 0;                        // of those, most alive at one moment

  std::int64_t sync_total() const;
};

// Counts from construction to destruction; costs nothing while none is alive. Operators are counted on every thread of
// this process; allocations on this thread and on autograd's threads that work for it. One at a time; destroy it on the
// thread that made it.
class OpCounter {
 public:
  OpCounter();  // throws Error where another is alive
  ~OpCounter();
  OpCounter(const OpCounter&) = delete;
  OpCounter& operator=(const OpCounter&) = delete;

  // so far. Throws Error where an operator's shapes could not be read: then the sum would be short
  OpCounts counts() const;

 private:
  std::uint64_t handle_ = 0;
  std::unique_ptr<c10::DebugInfoGuard> memory_;
};

}  // namespace ttt::roofline
