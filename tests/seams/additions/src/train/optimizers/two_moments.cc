// Adam (Kingma and Ba 2015) without its correction of the first steps: two tensors of state.
#include <ATen/ops/zeros_like.h>

#include "train/optimizers/optimizer.h"

namespace ttt::train {
namespace {

class TwoMoments final : public Optimizer {
 public:
  explicit TwoMoments(model::ParameterStore& store)
      : store_(store), first_(at::zeros_like(store.flat_values())), second_(at::zeros_like(first_)) {}
  void step(const Rates& rates) override {
    const at::Tensor gradient = store_.flat_gradients() * rates.gradient_scale;
    first_.mul_(0.9).add_(gradient, 0.1);
    second_.mul_(0.99).addcmul_(gradient, gradient, 0.01);
    store_.flat_values().addcdiv_(first_, second_.sqrt().add_(1e-8), -rates.lr);
  }
  std::vector<NamedTensor> state() const override { return {{"first_moment", first_}, {"second_moment", second_}}; }
  result::Json describe() const override { return {{"kind", "two_moments"}}; }

 private:
  model::ParameterStore& store_;
  at::Tensor first_, second_;
};

}  // namespace

std::unique_ptr<Optimizer> make_two_moments(const OptimizerConfig&, const OptimizerInputs& inputs) {
  return std::make_unique<TwoMoments>(inputs.store);
}

}  // namespace ttt::train
