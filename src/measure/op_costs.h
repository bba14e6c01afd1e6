// Lower bounds of each operator's cost: floating-point operations, bytes read and bytes written.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ttt::roofline {

struct OpCost {
  std::string name;
  std::int64_t flops = 0;  // of convolutions and matrix products; a multiply-add is two (op_flops.h)
  // of the float32 tensors that it is given and gives back (in place: both): what mixed precision halves
  std::int64_t float_bytes = 0;
  std::int64_t other_bytes = 0;  // of all other tensors
  bool matrix() const { return flops > 0; }
  // A kernel of ours, but for those that do what a convolution's own last pass over its result could do.
  bool own() const { return name.starts_with("ttt::") && !name.starts_with("ttt::bias_relu"); }
};

// Records the outermost operators on this thread from construction to destruction, in their order, and the kernels of
// kernels/ (models/ops/kernel_ops.h announces them). Operators that only make a view, or memory without contents, cost
// nothing and are left out. One at a time.
class OpCosts {
 public:
  OpCosts();  // throws Error where another is alive
  ~OpCosts();
  OpCosts(const OpCosts&) = delete;
  OpCosts& operator=(const OpCosts&) = delete;

  const std::vector<OpCost>& all() const;  // so far. Throws Error where an operator's arguments could not be read

 private:
  std::uint64_t handle_ = 0;
};

}  // namespace ttt::roofline
