#include "train/optimizers/rounded.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>

#include <optional>

#include "core/rng.h"

namespace ttt::train {
namespace {

std::optional<kernels::Rounding> rounding_of(const std::string& name) {
  if (name == "nearest") return kernels::Rounding::kNearestEven;
  if (name == "toward_zero") return kernels::Rounding::kTowardZero;
  if (name == "stochastic") return kernels::Rounding::kStochastic;
  return std::nullopt;
}

class Rounded final : public Optimizer {
 public:
  Rounded(const OptimizerConfig& config, const OptimizerInputs& in, std::unique_ptr<Optimizer> inner)
      : config_(config), store_(in.store), kernels_(model::or_host(in.kernels)), seed_(in.seed),
        inner_(std::move(inner)), updates_(at::zeros({1}, store_.flat_values().options())) {}

  void step(const Rates& rates) override {
    const at::NoGradGuard no_grad;
    updates_.add_(1);
    round(config_.round_gradients, 0, store_.flat_gradients());
    inner_->step(rates);
    round(config_.round_weights, 1, store_.flat_values());
    std::uint64_t array = 2;
    for (const NamedTensor& t : inner_->state())
      if (!t.is_count) round(config_.round_state, array++, t.value);
  }
  std::vector<NamedTensor> state() const override {
    std::vector<NamedTensor> all = inner_->state();
    all.push_back({"roundings", updates_, /*is_count=*/true});
    return all;
  }
  std::string not_capturable() const override { return inner_->not_capturable(); }
  result::Json describe() const override {
    result::Json d = inner_->describe();
    d["round_weights"] = config_.round_weights, d["round_state"] = config_.round_state;
    d["round_gradients"] = config_.round_gradients;
    return d;
  }

 private:
  // array: which one, so that no two of them share their draws
  void round(const std::string& how, std::uint64_t array, const at::Tensor& values) const {
    if (const auto rounding = rounding_of(how))
      kernels_.round_bfloat16(*rounding, random_bits(seed_, Purpose::kRounding, array),
          updates_.const_data_ptr<float>(), values.numel(), values.mutable_data_ptr<float>());
  }

  OptimizerConfig config_;
  model::ParameterStore& store_;
  model::ParameterKernels kernels_;
  std::uint64_t seed_;
  std::unique_ptr<Optimizer> inner_;
  at::Tensor updates_;  // [1] float32
};

}  // namespace

std::unique_ptr<Optimizer> make_rounded(
    const OptimizerConfig& config, const OptimizerInputs& in, std::unique_ptr<Optimizer> inner) {
  return std::make_unique<Rounded>(config, in, std::move(inner));
}

}  // namespace ttt::train
