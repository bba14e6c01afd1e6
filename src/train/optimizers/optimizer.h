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
#define TTT_OPTIMIZERS(X)                                                                                     \
  X(sgd, "stochastic gradient descent with momentum")                                                         \
  X(adamw, "Adam with weight decay beside its update")                                                        \
  X(lars, "momentum, each parameter's rate in proportion to its norm over its gradient's")                    \
  X(lamb, "Adam's direction, scaled to each parameter's norm")                                                \
  X(nvlamb, "lamb of gradients whose norm is at most clip_norm (0: at most 1), parameters without decay too") \
  X(novograd, "momentum of gradients divided by the moving norm of their parameter's")                        \
  X(muon, "momentum of matrices made orthogonal; adamw for what is no matrix")

namespace ttt::train {

struct OptimizerConfig {
  std::string kind = "sgd", implementation = "fused";
  double momentum = 0.9;
  bool nesterov = false;
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
  double trust = 0.001;
  bool grad_averaging = false, bias_correction = false;
  double weight_decay = 1e-4;
  double bias_lr_factor = 1.0;
  bool decay_bias = true;
  double clip_norm = 0;
  std::string round_weights = "none", round_state = "none", round_gradients = "none";

  template <class Self, class V> static void fields(Self& s, V&& v) {
    v("kind", s.kind, "how gradients change weights" TTT_OPTIMIZERS(TTT_CHOICE_DOC),
        one_of({TTT_OPTIMIZERS(TTT_CHOICE_NAME)}));
    v("implementation", s.implementation,
        "how an update runs; fused: one pass over all parameters (muon: matrices of one shape together); foreach: one "
        "operation after another over lists of tensors; loop: over each tensor by itself",
        one_of({"fused", "foreach", "loop"}));
    v("momentum", s.momentum, "momentum, without dampening; of sgd, lars and muon", between(0, 1));
    v("nesterov", s.nesterov, "momentum looks one step ahead (Nesterov); of sgd, lars and muon");
    v("beta1", s.beta1, "decay of the first moment; of the other kinds, and of muon where there is no matrix",
        between(0, 0.9999999));
    v("beta2", s.beta2, "decay of the second moment; of the kinds that have beta1", between(0, 0.9999999));
    v("eps", s.eps, "added to what is divided by; of all kinds but sgd", between(1e-30, 1));
    v("trust", s.trust, "of a parameter's norm the share that a step of rate 1 may be; of lars", between(0, 1000));
    v("grad_averaging", s.grad_averaging, "a gradient enters the first moment by 1 - beta1, else by 1; of novograd");
    v("bias_correction", s.bias_correction, "moments of first updates are corrected as Adam's always are; of novograd");
    v("weight_decay", s.weight_decay,
        "L2 penalty added to the gradient; adamw and muon shrink weights by it, lamb and novograd add it to the "
        "direction",
        between(0, 100));
    v("bias_lr_factor", s.bias_lr_factor, "learning rate of biases relative to weights: 2 in MLPerf's reference",
        between(0, 1000));
    v("decay_bias", s.decay_bias, "biases are decayed too (torchvision); false in MLPerf's reference");
    v("clip_norm", s.clip_norm,
        "norm of all gradients, averaged over ranks, to which a larger one is scaled down; 0: none is",
        between(0, 1e30));
    const Limits roundings = one_of({"none", "nearest", "toward_zero", "stochastic"});
    v("round_weights", s.round_weights,
        "weights after an update as bfloat16 holds them, without a copy in float32: none; nearest, at equal distance "
        "the even one; toward_zero; stochastic, in proportion to the distances",
        roundings);
    v("round_state", s.round_state, "the same of the optimizer's arrays, such as momentum", roundings);
    v("round_gradients", s.round_gradients, "the same of gradients, summed over ranks, before an update", roundings);
  }
  bool rounds() const { return round_weights != "none" || round_state != "none" || round_gradients != "none"; }
};

// Throws UsageError for a key that the kind does not read, and for a kind that does nothing of its own.
void check(const OptimizerConfig& config);

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
  bool is_count = false;  // of updates: never rounded
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
  std::uint64_t seed = 0;                // of stochastic rounding
};

// Of the recipe's kind, with the roundings that it asks for. Throws UsageError where keys contradict each other.
std::unique_ptr<Optimizer> make_optimizer(const OptimizerConfig& config, const OptimizerInputs& inputs);

#define TTT_DECLARE(name, doc) \
  std::unique_ptr<Optimizer> make_##name(const OptimizerConfig& config, const OptimizerInputs& inputs);
TTT_OPTIMIZERS(TTT_DECLARE)
#undef TTT_DECLARE

}  // namespace ttt::train
