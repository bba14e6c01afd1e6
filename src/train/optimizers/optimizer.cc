#include "train/optimizers/optimizer.h"

#include <ATen/ops/empty.h>

#include "core/error.h"

namespace ttt::train {

Rates rates_on_host(double lr, double gradient_scale) {
  Rates rates{.lr = lr, .gradient_scale = gradient_scale, .tensor = at::empty({2}, at::kFloat)};
  auto* values = rates.tensor.mutable_data_ptr<float>();
  values[0] = static_cast<float>(lr), values[1] = static_cast<float>(gradient_scale);
  return rates;
}

std::unique_ptr<Optimizer> make_optimizer(const OptimizerConfig& config, const OptimizerInputs& inputs) {
#define TTT_MAKE(name, doc) \
  if (config.kind == #name) return make_##name(config, inputs);
  TTT_OPTIMIZERS(TTT_MAKE)
#undef TTT_MAKE
  throw UsageError("train.optimizer.kind = \"" + config.kind + "\": there is no such optimizer.");
}

}  // namespace ttt::train
