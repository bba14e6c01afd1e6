#include "models/gradient_hooks.h"

#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

namespace ttt::model {
namespace {

class Accumulated final : public torch::autograd::PostAccumulateGradHook {
 public:
  Accumulated(std::function<void(std::size_t)> ready, std::size_t parameter, std::int64_t times)
      : ready_(std::move(ready)), parameter_(parameter), times_(times) {}
  void operator()(const torch::autograd::Variable&) override {
    if (++count_ % times_ == 0) ready_(parameter_);
  }

 private:
  std::function<void(std::size_t)> ready_;
  std::size_t parameter_;
  std::int64_t times_, count_ = 0;
};

}  // namespace

GradientHooks::GradientHooks(ParameterStore& store, const std::function<void(std::size_t)>& ready, std::int64_t times)
    : store_(store) {
  for (std::size_t i = 0; i < store.trainable().size(); ++i)
    torch::autograd::impl::set_post_acc_grad_hooks(
        store.trainable()[i]->value, std::make_unique<Accumulated>(ready, i, times));
}

GradientHooks::~GradientHooks() {
  for (Parameter* p : store_.trainable()) torch::autograd::impl::set_post_acc_grad_hooks(p->value, nullptr);
}

}  // namespace ttt::model
