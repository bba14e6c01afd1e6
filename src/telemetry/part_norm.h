// The gradient's norm of a part of a batch, before the other parts and ranks are added.
//
// With the norm of the sum it says how noisy gradients are: McCandlish et al. 2018, "An Empirical Model of Large-Batch
// Training", appendix A.1.
#pragma once

#include <memory>
#include <vector>

#include "models/ops/norm_tables.h"
#include "models/parameters.h"
#include "train/step.h"

namespace ttt::train {

// The inner step, and after its first part a stage that takes the squared norm of all gradients where they lie. The
// host never asks, so the stage can be captured.
class StepWithPartNorm final : public Step {
 public:
  // store: outlives this. kernels: empty ones are the host's.
  StepWithPartNorm(std::unique_ptr<Step> inner, model::ParameterStore& store, model::ParameterKernels kernels);
  std::vector<Stage> stages(StepState& s) override;
  std::int64_t parts() const override { return inner_->parts(); }
  result::Json describe() const override;

  // Of the last step's first part on this rank, as gradients lie: of the scaled loss, divided by parts(). Waits for the
  // device.
  double squared_norm() const;

 private:
  std::unique_ptr<Step> inner_;
  model::ParameterStore& store_;
  model::NormTables all_;  // one group
  at::Tensor sums_;        // [1, 3] float64, as SquaredNorms
};

}  // namespace ttt::train
