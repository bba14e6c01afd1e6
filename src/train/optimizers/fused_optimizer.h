// Optimizers whose update is a pass over the flat parameters, on a device in one launch.
#pragma once

#include <vector>

#include "train/optimizers/gradient_scale.h"
#include "train/optimizers/update_pieces.h"

namespace ttt::train {

// What all of them share: the gradients' factor, and the search for gradients that are not finite. Nothing waits for
// the device, so that an update can be captured and replayed.
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

  model::ParameterStore& store_;
  OptimizerConfig config_;
  model::ParameterKernels kernels_;
  std::vector<UpdateRange> ranges_;

 private:
  LossScaler* scaler_;
  GradientScale scale_;
};

// Norms of each parameter, where they lie.
class ParameterNorms {
 public:
  ParameterNorms(std::span<const UpdateRange> ranges, const model::ParameterKernels& kernels, const at::Device& device);
  struct Norms {
    at::Tensor vector, weight;  // [parameters] float64
  };
  // Of `vector`, an array in the parameters' layout, and of the weights.
  Norms of(const at::Tensor& vector, const at::Tensor& weights) const;
  at::Tensor squares_of(const at::Tensor& vector) const;  // [parameters] float64

 private:
  model::NormTables tables_;
};

// [parameters] float64: weight / vector where both are above zero and `adapted` [parameters] is not 0, else 1.
at::Tensor trust_ratio(const at::Tensor& weight, const at::Tensor& vector, const at::Tensor& adapted);
// [parameters] float64 on `device`: 1 for parameters that are decayed, or for all of them; else 0.
at::Tensor adapted_parameters(std::span<const UpdateRange> ranges, bool all, const at::Device& device);
// The same of weight decays.
at::Tensor decays_of(std::span<const UpdateRange> ranges, const at::Device& device);

// NovoGrad's second moment after an update: it begins with the first square.
//   second, squares: [parameters] float32
at::Tensor novograd_second_moment(const OptimizerConfig& config, const at::Tensor& second, const at::Tensor& squares);

}  // namespace ttt::train
