// Optimizers as PyTorch arranges them: operations over tensors, one at a time (loop) or a list at a time (foreach).
// Each operation is a pass over memory. They are the other side of a comparison with one fused pass, of its state.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "train/optimizers/optimizer.h"

namespace ttt::train {

// The arrays and numbers of an update of a list of parameters, all of one learning rate and decay.
struct TensorUpdate {
  std::vector<at::Tensor> values, gradients;   // float32; gradients of the mean over ranks, clipped
  std::vector<std::vector<at::Tensor>> state;  // by TensorRule::state, each as `values`
  std::vector<at::Tensor> numbers;             // [1] of each parameter: TensorRule::number
  double lr = 0, weight_decay = 0;
  std::int64_t number_of_update = 0;  // 1, 2, ...
};

struct TensorRule {
  std::vector<std::string> state;  // names of arrays as large as the parameters
  std::string number;              // name of a state of one number for each parameter, "" where there is none
  bool counts = false;             // the number of updates is a state, "updates"
  std::function<void(TensorUpdate&)> update;
};
TensorRule sgd_rule(const OptimizerConfig& config);
TensorRule adamw_rule(const OptimizerConfig& config);
TensorRule lars_rule(const OptimizerConfig& config);
TensorRule lamb_rule(const OptimizerConfig& config, bool adapt_all);
TensorRule novograd_rule(const OptimizerConfig& config);

// Throws UsageError where the loss is scaled: whether an update is skipped would be a question to the device.
std::unique_ptr<Optimizer> make_tensor_optimizer(
    const OptimizerConfig& config, const OptimizerInputs& in, TensorRule rule);

}  // namespace ttt::train
