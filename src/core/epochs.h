// Passes over the training images in steps.
#pragma once

#include <cstdint>
#include <vector>

namespace ttt {

// How many steps an epoch has: not always the same number, where phases of a run have batches of different sizes.
// Epochs and steps count from 0.
class Epochs {
 public:
  struct Phase {
    std::int64_t first_epoch = 0, steps_per_epoch = 1;
  };
  // Implicit: a run without such phases has one number of steps.
  Epochs(std::int64_t steps_per_epoch = 1) : Epochs(std::vector<Phase>{{0, steps_per_epoch}}) {}
  // Ascending, the first from epoch 0 on; each with at least one step an epoch.
  explicit Epochs(const std::vector<Phase>& phases);

  // Steps in so many epochs, to the nearest.
  std::int64_t steps(double epochs) const;
  // Epochs in so many steps.
  double after(std::int64_t steps) const;
  // The epoch that holds a step.
  std::int64_t epoch_of(std::int64_t step) const;
  std::int64_t steps_before(std::int64_t epoch) const { return steps(static_cast<double>(epoch)); }
  // Whether a step is the first of an epoch.
  bool begins_at(std::int64_t step) const { return steps_before(epoch_of(step)) == step; }
  // Whether so many steps make a multiple of `interval` epochs, to the nearest step. Of a shorter interval every step
  // does.
  bool is_multiple(std::int64_t steps, double interval) const;

 private:
  struct Part {
    std::int64_t first_epoch, steps_per_epoch, first_step;
  };
  const Part& part_of_step(std::int64_t step) const;

  std::vector<Part> parts_;
};

}  // namespace ttt
