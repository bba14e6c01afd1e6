#include "train/optimizers/optimizer.h"

#include <ATen/ops/empty.h>

#include "core/error.h"
#include "train/optimizers/rounded.h"

namespace ttt::train {

Rates rates_on_host(double lr, double gradient_scale) {
  Rates rates{.lr = lr, .gradient_scale = gradient_scale, .tensor = at::empty({2}, at::kFloat)};
  auto* values = rates.tensor.mutable_data_ptr<float>();
  values[0] = static_cast<float>(lr), values[1] = static_cast<float>(gradient_scale);
  return rates;
}

void check(const OptimizerConfig& config) {
  const std::string& kind = config.kind;
  const auto refuse = [&](const char* key, const char* kinds) {
    throw UsageError("train.optimizer." + std::string(key) + " = true is not for " + kind +
                     ": leave it out, or choose " + kinds + ".");
  };
  if (config.nesterov && kind != "sgd" && kind != "lars" && kind != "muon") refuse("nesterov", "sgd, lars or muon");
  if (config.grad_averaging && kind != "novograd") refuse("grad_averaging", "novograd");
  if (config.bias_correction && kind != "novograd") refuse("bias_correction", "novograd");
  if ((kind == "lars" || kind == "lamb") && config.weight_decay == 0)
    throw UsageError(
        "train.optimizer.kind = \"" + kind +
        "\" adapts the rates of parameters that are decayed, and train.optimizer.weight_decay is 0: set it "
        "above 0, or choose nvlamb, which adapts all.");
  if (kind == "muon" && config.implementation == "foreach")
    throw UsageError(
        "train.optimizer.implementation = \"foreach\": muon has no such. Use \"fused\", which takes matrices of one "
        "shape together, or \"loop\".");
}

namespace {

std::unique_ptr<Optimizer> make_kind(const OptimizerConfig& config, const OptimizerInputs& inputs) {
#define TTT_MAKE(name, doc) \
  if (config.kind == #name) return make_##name(config, inputs);
  TTT_OPTIMIZERS(TTT_MAKE)
#undef TTT_MAKE
  throw UsageError("train.optimizer.kind = \"" + config.kind + "\": there is no such optimizer.");
}

}  // namespace

std::unique_ptr<Optimizer> make_optimizer(const OptimizerConfig& config, const OptimizerInputs& inputs) {
  check(config);
  std::unique_ptr<Optimizer> made = make_kind(config, inputs);
  return config.rounds() ? make_rounded(config, inputs, std::move(made)) : std::move(made);
}

}  // namespace ttt::train
