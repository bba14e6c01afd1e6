// Stochastic gradient descent over the flat parameters.
#pragma once

#include "settings/fields.h"
#include "models/parameters.h"
#include "settings/json.h"
#include "train/loss_scaler.h"
#include "train/optimizers/parameter_kernels.h"

namespace ttt::train {

struct OptimizerConfig {
  double momentum = 0.9;
  double weight_decay = 1e-4;
  double bias_lr_factor = 1.0;
  bool decay_bias = true;

  template <class Self, class V>
  static void fields(Self& s, V&& v) {
    v("momentum", s.momentum, "momentum, without dampening or Nesterov", between(0, 1));
    v("weight_decay", s.weight_decay, "L2 penalty added to the gradient", between(0, 100));
    v("bias_lr_factor", s.bias_lr_factor, "learning rate of biases relative to weights: 2 in MLPerf's reference", between(0, 1000));
    v("decay_bias", s.decay_bias, "biases are decayed too (torchvision); false in MLPerf's reference");
  }
};

// Of one update.
struct Rates {
  double lr = 0;
  double gradient_scale = 1;  // turns a sum over ranks into the mean
  at::Tensor tensor;          // [2] float32, both of them where the parameters lie: what an update reads that is recorded and replayed
};
Rates rates_on_host(double lr, double gradient_scale);

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  // Updates the parameters from flat_gradients() * gradient_scale.
  virtual void step(const Rates& rates) = 0;
  // Why an update cannot be recorded and replayed, "" where it can.
  virtual std::string bound_to_host() const { return ""; }
  virtual at::Tensor momentum() const = 0;  // [T], for checkpoints
  virtual result::Json describe() const = 0;
};

// PyTorch's SGD, one fused pass, on a device in one launch; biases (names ending in "bias") form their own group.
class FusedSgd final : public Optimizer {
 public:
  // `kernels`: empty ones are the host's. `scaler`: of the loss whose gradients it is given, null: they are not scaled; outlives the optimiser.
  FusedSgd(model::ParameterStore& store, const OptimizerConfig& config, ParameterKernels kernels = {}, LossScaler* scaler = nullptr);
  void step(const Rates& rates) override;
  at::Tensor momentum() const override { return momentum_; }
  result::Json describe() const override;

 private:
  model::ParameterStore& store_;
  OptimizerConfig config_;
  ParameterKernels kernels_;
  LossScaler* scaler_;
  at::Tensor momentum_;
  std::int64_t groups_ = 0;             // runs of consecutive parameters of one group
  std::int64_t count_ = 0, largest_ = 0;  // of the tensors below
  at::Tensor tensors_;                  // [count * sizeof(SgdTensor)] uint8, where the parameters lie: the groups in pieces of about one size
};

}  // namespace ttt::train
