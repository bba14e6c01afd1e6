// Where the growth of a weight norm changes, found without knowing what the run did there. METRICS.md has the
// definitions.
#pragma once

#include <cstdint>
#include <vector>

namespace ttt::reports {

// ln(norm) of samples, and how fast it grows from each to the next.
class WeightGrowth {
 public:
  // At equal positions; steps ascend, norms are above 0.
  WeightGrowth(const std::vector<std::int64_t>& step, const std::vector<double>& norm);

  // A sample at which the growth before and after it are not of one piece, or its pace: the root mean square of blocks
  // of the growth. Where a norm wanders more than it grows, a lower learning rate shows in the pace alone.
  struct Change {
    std::int64_t step = 0;
    bool of_pace = false;
    double before = 0, after = 0;  // per step: the mean over a window on either side, the root mean square of the pace
    double strength = 0;           // the step between the lines fitted to both windows / its standard error
    std::int64_t within = 0;       // steps by which its place is uncertain
  };
  std::vector<Change> changes() const;  // ascending; of one place the growth's alone

  // The norm itself is another from one sample to the next.
  struct Jump {
    std::int64_t step = 0;  // of the later sample
    double relative = 0;    // norm after / norm as its neighbours' growth would have it, - 1
  };
  std::vector<Jump> jumps() const;

  // Growth in the windows before and after a step that is known, one value for each pair of neighbouring samples; empty
  // where there are fewer than kFewest on either side.
  struct Sides {
    std::vector<double> before, after;
  };
  Sides sides(std::int64_t step) const;

  std::size_t window() const { return window_; }  // pairs of samples on either side; 0: too few samples for any change
  static constexpr std::size_t kFewest = 8;

 private:
  std::vector<Change> changes_of(bool pace) const;

  std::vector<std::int64_t> step_;
  std::vector<double> growth_;  // [samples - 1]
  std::size_t window_ = 0;
};

}  // namespace ttt::reports
