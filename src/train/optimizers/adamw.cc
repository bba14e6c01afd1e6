// AdamW (Loshchilov and Hutter 2019), as PyTorch has it: weight decay beside Adam's update.
#include "train/optimizers/adam.h"
#include "train/optimizers/tensor_optimizer.h"

namespace ttt::train {
namespace {

class FusedAdamW final : public FusedOptimizer {
 public:
  FusedAdamW(const OptimizerConfig& config, const OptimizerInputs& in)
      : FusedOptimizer(config, in, Grouping::kAlike), state_(in.store),
        pieces_(adam_pieces(ranges_, in.store, state_, {})) {}
  std::vector<NamedTensor> state() const override { return state_.tensors(); }

 private:
  void update(const Update& u) override { run_adam(state_.updates, pieces_, u); }

  AdamState state_;
  PieceTable<kernels::AdamTensor> pieces_;
};

}  // namespace

std::unique_ptr<Optimizer> make_adamw(const OptimizerConfig& config, const OptimizerInputs& in) {
  if (config.implementation != "fused") return make_tensor_optimizer(config, in, adamw_rule(config));
  return std::make_unique<FusedAdamW>(config, in);
}

}  // namespace ttt::train
