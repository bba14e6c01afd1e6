// Stochastic gradient descent over the flat parameters.
#pragma once

#include <functional>

#include "core/fields.h"
#include "kernels/params.h"
#include "model/parameters.h"
#include "result/json.h"

namespace ttt::train {

struct OptimizerConfig {
  double momentum = 0.9;
  double weight_decay = 1e-4;
  double bias_lr_factor = 1.0;
  bool decay_bias = true;

  template <class Self, class V>
  static void fields(Self& s, V&& v) {
    v("momentum", s.momentum, "momentum, without dampening or Nesterov", between(0, 1));
    v("weight_decay", s.weight_decay, "L2 penalty added to the gradient", at_least(0));
    v("bias_lr_factor", s.bias_lr_factor, "learning rate of biases relative to weights: 2 in MLPerf's reference", at_least(0));
    v("decay_bias", s.decay_bias, "biases are decayed too (torchvision); false in MLPerf's reference");
  }
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  // Updates the parameters from flat_gradients() * gradient_scale, where the scale turns a sum over ranks into the mean.
  virtual void step(double lr, double gradient_scale) = 0;
  virtual at::Tensor momentum() const = 0;  // [T], for checkpoints
  virtual result::Json describe() const = 0;
};

// kernels/host/detection.h: sgd; or its twin for the memory in which the parameters lie.
using SgdKernel = std::function<void(const kernels::SgdParams&, std::int64_t n, const float* grad, float* momentum, float* weight)>;

// PyTorch's SGD, one fused pass; biases (names ending in "bias") form their own group.
class FusedSgd final : public Optimizer {
 public:
  FusedSgd(model::ParameterStore& store, const OptimizerConfig& config, SgdKernel kernel = {});  // empty: the host's
  void step(double lr, double gradient_scale) override;
  at::Tensor momentum() const override { return momentum_; }
  result::Json describe() const override;

 private:
  struct Range {  // consecutive parameters of one group
    std::int64_t begin = 0, end = 0;
    bool bias = false;
  };
  model::ParameterStore& store_;
  OptimizerConfig config_;
  SgdKernel kernel_;
  std::vector<Range> ranges_;
  at::Tensor momentum_;
};

}  // namespace ttt::train
