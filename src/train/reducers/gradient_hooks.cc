#include "train/reducers/gradient_hooks.h"

#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

namespace ttt::train {
namespace {

class GradientReady final : public torch::autograd::PostAccumulateGradHook {
 public:
  GradientReady(GradientReducer& reducer, std::size_t parameter) : reducer_(reducer), parameter_(parameter) {}
  void operator()(const torch::autograd::Variable&) override { reducer_.ready(parameter_); }

 private:
  GradientReducer& reducer_;
  std::size_t parameter_;
};

}  // namespace

std::unique_ptr<GradientReducer> make_reducer(const ReducerConfig& config, model::ParameterStore& store, comm::Communicator& comm) {
  std::vector<std::int64_t> offsets;
  for (const model::Parameter* p : store.trainable()) offsets.push_back(p->offset);
  at::Tensor& flat = store.flat_gradients();
  return make_reducer(config, std::span<float>(flat.data_ptr<float>(), static_cast<std::size_t>(flat.numel())), offsets, comm);
}

GradientHooks::GradientHooks(model::ParameterStore& store, GradientReducer& reducer) : store_(store) {
  if (!reducer.overlaps_backward()) return;
  for (std::size_t i = 0; i < store.trainable().size(); ++i)
    torch::autograd::impl::set_post_acc_grad_hooks(store.trainable()[i]->value, std::make_unique<GradientReady>(reducer, i));
}

GradientHooks::~GradientHooks() {
  for (model::Parameter* p : store_.trainable()) torch::autograd::impl::set_post_acc_grad_hooks(p->value, nullptr);
}

}  // namespace ttt::train
