// Optimizers whose update is a pass over the flat parameters, on a device in one launch.
#pragma once

#include <vector>

#include "train/optimizers/gradient_scale.h"
#include "train/optimizers/update_pieces.h"

namespace ttt::train {

// It makes the gradients' factor, and searches for gradients that are not finite. Nothing waits for the device, so that
// an update can be captured and replayed.
class FusedOptimizer : public Optimizer {
 public:
  void step(const Rates& rates) final;
  result::Json describe() const override;

 protected:
  // in.store and in.scaler outlive it.
  FusedOptimizer(const OptimizerConfig& config, const OptimizerInputs& in, Grouping grouping);

  struct Update {
    at::Tensor lr, scale;  // [1] float32 where the parameters lie: learning rate, and the gradients' factor
    at::Tensor found;      // [1] int32: not 0 where nothing may change; undefined where that is not asked
    const float* lr_pointer() const { return lr.const_data_ptr<float>(); }
    const float* scale_pointer() const { return scale.const_data_ptr<float>(); }
    const std::int32_t* skip() const { return found.defined() ? found.const_data_ptr<std::int32_t>() : nullptr; }
  };
  virtual void update(const Update& u) = 0;

  // Writes `next` into `state`, but not in a step that is skipped.
  static void advance(at::Tensor& state, const at::Tensor& next, const Update& u);
  // Counts the update, then moments and weights (or directions) of `pieces`.
  //   updates: [1] float32
  void run_adam(at::Tensor& updates, const PieceTable<kernels::AdamTensor>& pieces, const Update& u) const;

  model::ParameterStore& store_;
  OptimizerConfig config_;
  model::ParameterKernels kernels_;
  std::vector<UpdateRange> ranges_;

 private:
  LossScaler* scaler_;
  GradientScale scale_;
};

}  // namespace ttt::train
