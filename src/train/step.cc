#include "train/step.h"

#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>

namespace ttt::train {

DetachedLosses Step::forward_backward(const model::DeviceBatch& batch, result::PhaseClock& clock) {
  const Pass p = pass(batch);
  for (std::size_t i = 0; i < p.parts.size(); ++i) {
    if (i == 0 || p.parts[i].phase != p.parts[i - 1].phase) clock.enter(p.parts[i].phase);
    p.parts[i].run(/*keep=*/false);
  }
  clock.enter(result::Phase::kOther);
  return p.losses();
}

// What the parts hand on.
struct EagerStep::State {
  model::DeviceBatch batch;
  model::Pyramid features;  // with history
  model::Pyramid cut;       // the same values, where the heads' history begins
  std::vector<at::Tensor> gradients;  // of the pyramid's levels
  bool cut_fixed = false, gradients_fixed = false;  // their addresses: what reads them is recorded
  model::Losses losses;
};

Pass EagerStep::pass(const model::DeviceBatch& batch) {
  const auto s = std::make_shared<State>();
  s->batch = batch;
  return {.parts = {{"backbone", result::Phase::kForward,
                     [this, s](bool) {
                       s->features = model_.features(s->batch.images);
                       cut(*s);
                     },
                     ""},
                    {"heads", result::Phase::kForward, 
                     [this, s](bool keep) {
                       s->cut_fixed = keep;
                       s->losses = model_.training_losses(s->cut, s->batch);
                     },
                     ""},
                    {"heads_backward", result::Phase::kBackward, [this, s](bool keep) { losses_backward(*s, keep); }, "heads"},
                    {"backbone_backward", result::Phase::kBackward,
                     [s](bool keep) {
                       s->gradients_fixed = keep;
                       torch::autograd::backward({s->features.begin(), s->features.end()}, s->gradients, /*retain_graph=*/keep);
                     },
                     "backbone"}},
          .losses = [s] { return s->losses.detached(); }};
}

void EagerStep::cut(State& s) {
  const at::NoGradGuard no_grad;
  for (std::size_t l = 0; l < s.cut.size(); ++l) {
    if (s.cut_fixed) s.cut[l].copy_(s.features[l]);
    else s.cut[l] = s.features[l].detach().requires_grad_();
  }
}

void EagerStep::losses_backward(State& s, bool keep) const {
  if (clear_.clear) clear_.clear();
  else model_.parameters().flat_gradients().zero_();
  for (at::Tensor& level : s.cut) level.mutable_grad().reset();
  scaled(s.losses.total(), scaler_).backward(/*gradient=*/{}, /*retain_graph=*/keep);
  if (s.gradients_fixed) {
    for (std::size_t l = 0; l < s.cut.size(); ++l) s.gradients[l].copy_(s.cut[l].grad());
  } else {
    s.gradients.clear();
    for (const at::Tensor& level : s.cut) s.gradients.push_back(level.grad());
  }
}

result::Json EagerStep::describe() const {
  return {{"kind", "eager"}, {"shapes", model_.config().shapes}, {"precision", model_.config().precision}, {"ops", model_.ops().name}, {"zero_grad", clear_.name}};
}

}  // namespace ttt::train
