// Updates of the flat parameters by their gradients.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "models/ops/parameter_kernels.h"
#include "models/parameters.h"
#include "settings/fields.h"
#include "settings/json.h"
#include "train/loss_scaler.h"

// The choices of train.optimizer.kind. To add one: a line here, and optimizers/<kind>.cc with make_<kind>.
#define TTT_OPTIMIZERS(X) X(sgd, "stochastic gradient descent with momentum")

namespace ttt::train {

struct OptimizerConfig {
  std::string kind = "sgd";
  double momentum = 0.9;
  double weight_decay = 1e-4;
  double bias_lr_factor = 1.0;
  bool decay_bias = true;
  double clip_norm = 0;

  template <class Self, class V> static void fields(Self& s, V&& v) {
    v("kind", s.kind, "how gradients change weights" TTT_OPTIMIZERS(TTT_CHOICE_DOC),
        one_of({TTT_OPTIMIZERS(TTT_CHOICE_NAME)}));
    v("momentum", s.momentum, "momentum, without dampening or Nesterov", between(0, 1));
    v("weight_decay", s.weight_decay, "L2 penalty added to the gradient", between(0, 100));
    v("bias_lr_factor", s.bias_lr_factor, "learning rate of biases relative to weights: 2 in MLPerf's reference",
        between(0, 1000));
    v("decay_bias", s.decay_bias, "biases are decayed too (torchvision); false in MLPerf's reference");
    v("clip_norm", s.clip_norm,
        "norm of all gradients, averaged over ranks, to which a larger one is scaled down; 0: none is",
        between(0, 1e30));
  }
};

// Of one update.
struct Rates {
  double lr = 0;
  double gradient_scale = 1;  // turns a sum over ranks into the mean
  // [2] float32, both of them where the parameters lie: what an update reads that is recorded and replayed
  at::Tensor tensor;
};
Rates rates_on_host(double lr, double gradient_scale);

struct NamedTensor {
  std::string name;
  at::Tensor value;
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  // Updates the parameters from flat_gradients() * gradient_scale.
  virtual void step(const Rates& rates) = 0;
  // All that a later update reads of earlier ones, float32: [T] in the layout of the parameters, or any other shape.
  // These are the optimizer's own tensors, so that writing to them restores it.
  virtual std::vector<NamedTensor> state() const = 0;
  // Why an update cannot be captured and replayed, "" where it can.
  virtual std::string not_capturable() const { return ""; }
  virtual result::Json describe() const = 0;
};

// An optimizer's surroundings; store and scaler outlive it.
struct OptimizerInputs {
  model::ParameterStore& store;
  model::ParameterKernels kernels = {};  // empty ones are the host's
  LossScaler* scaler = nullptr;          // of the loss whose gradients it is given, null: they are not scaled
};

std::unique_ptr<Optimizer> make_optimizer(const OptimizerConfig& config, const OptimizerInputs& inputs);

#define TTT_DECLARE(name, doc) \
  std::unique_ptr<Optimizer> make_##name(const OptimizerConfig& config, const OptimizerInputs& inputs);
TTT_OPTIMIZERS(TTT_DECLARE)
#undef TTT_DECLARE

}  // namespace ttt::train
