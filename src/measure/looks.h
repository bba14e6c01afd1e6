// Looks at a precision while samples are taken.
#pragma once

#include <cstdint>

namespace ttt::harness {

// When a measurement looks at its precision, and by how much each look may err so that all together err in 5 % at most.
class Looks {
 public:
  // At `first` of what is counted, and each time at twice as many; at `most` at the latest is the last.
  Looks(std::int64_t first, std::int64_t most) : next_(first) {
    int looks = 1;
    for (std::int64_t n = first; n < most; n *= 2) ++looks;
    each_ = left_ / looks;
  }
  bool due(std::int64_t n) const { return n >= next_; }
  double confidence() const { return 1 - each_; }
  void take(std::int64_t n) { next_ = 2 * n, left_ -= each_; }
  double last_confidence() const { return 1 - left_; }  // all that is left

 private:
  std::int64_t next_;
  double left_ = 0.05, each_;
};

}  // namespace ttt::harness
