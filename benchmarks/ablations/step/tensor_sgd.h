// The optimiser as a list of tensors, as PyTorch's own is arranged: the other side of a comparison with the suite's flat one.
#pragma once

#include <array>
#include <vector>

#include "train/optimizers/optimizer.h"

namespace ttt::ablations {

// PyTorch's SGD over tensors one at a time (loop) or with one call for a list of them (foreach): four passes over memory. Gradients are
// asked for at every step, so they may be new tensors each time.
class TensorSgd final : public train::Optimizer {
 public:
  enum class Calls { kLoop, kForeach };
  // `store` outlives it.
  TensorSgd(model::ParameterStore& store, const train::OptimizerConfig& config, Calls calls);
  void step(const train::Rates& rates) override;
  std::string not_capturable() const override { return "its learning rate is a number of the host"; }
  std::vector<train::NamedTensor> state() const override;  // throws NotSupported: it has a tensor for each parameter
  result::Json describe() const override;

 private:
  struct Group {
    double lr_factor = 1, decay = 0;
    std::vector<const model::Parameter*> parameters;
    std::vector<at::Tensor> values, momentum;
  };
  void step_foreach(Group& group, double lr, double gradient_scale) const;
  void step_loop(Group& group, double lr, double gradient_scale) const;

  double momentum_factor_;
  Calls calls_;
  std::array<Group, 2> groups_;  // weights, biases
};

}  // namespace ttt::ablations
