// What a stretch of tensor code asks of LibTorch: operator calls, floating-point operations, points at which a device would be waited for,
// memory allocated. Counts are of the work, not of the machine: they say why one variant of a step is faster than another.
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
  // Operators called from outside of any other operator, those of backward included: what a graph or a fused kernel would save.
  std::int64_t calls = 0;
  // Convolutions and matrix products, forward and backward; a multiply-add is two. torch.utils.flop_counter's convention, but for the weights'
  // gradient of a grouped convolution, which it overstates by the number of groups.
  std::int64_t flops = 0;
  // Operators whose result the host needs before it can go on (a scalar read, an output of unknown size, a blocking copy to the host), by
  // name, each counted once where one calls another. On a CPU they wait for nothing, and are counted all the same.
  std::map<std::string, std::int64_t> sync_points;
  std::int64_t allocations = 0, allocated_bytes = 0;  // of tensors, on any device
  std::int64_t peak_bytes = 0;                        // of those, most alive at one moment

  std::int64_t sync_total() const;
};

// Counts from construction to destruction; costs nothing while none is alive. Operators are counted on every thread of this process;
// allocations on this thread and on autograd's threads that work for it. One at a time; destroy it on the thread that made it.
class OpCounter {
 public:
  OpCounter();  // throws Error where another is alive
  ~OpCounter();
  OpCounter(const OpCounter&) = delete;
  OpCounter& operator=(const OpCounter&) = delete;

  OpCounts counts() const;  // so far. Throws Error where an operator's shapes could not be read: then the sum would be short

 private:
  std::uint64_t handle_ = 0;
  std::unique_ptr<c10::DebugInfoGuard> memory_;
};

}  // namespace ttt::roofline
