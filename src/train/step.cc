#include "train/step.h"

#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>

namespace ttt::train {

using result::Phase;

// What the stages of forward and backward hand on.
struct EagerStep::Forward {
  model::Pyramid features;            // with history
  model::Pyramid cut;                 // the same values, where the heads' history begins
  std::vector<at::Tensor> gradients;  // of the pyramid's levels
  bool cut_fixed = false, gradients_fixed = false;  // their addresses: a captured stage reads them
  model::Losses losses;
};

std::vector<Stage> EagerStep::stages(StepState& s) {
  const auto f = std::make_shared<Forward>();
  const auto backbone = [this, &s, f](bool) {
    f->features = model_.features(s.inputs.batch.images);
    cut(*f);
  };
  const auto heads = [this, &s, f](bool keep) {
    f->cut_fixed = keep;
    f->losses = model_.training_losses(f->cut, s.inputs.batch);
    s.losses = f->losses.detached();
  };
  const auto heads_backward = [this, f](bool keep) { losses_backward(*f, keep); };
  const auto backbone_backward = [f](bool keep) {
    f->gradients_fixed = keep;
    torch::autograd::backward({f->features.begin(), f->features.end()}, f->gradients, /*retain_graph=*/keep);
  };
  const std::string host = model_.not_capturable();
  return {{"backbone", Phase::kForward, backbone, "", host},
          {"heads", Phase::kForward, heads, "", host},
          {"heads_backward", Phase::kBackward, heads_backward, "heads", host},
          {"backbone_backward", Phase::kBackward, backbone_backward, "backbone", host}};
}

std::vector<Stage> stages_of(Step& step, Reducer& reducer, Optimizer& optimizer, StepState& s, std::function<void()> next_batch) {
  std::vector<Stage> all = step.stages(s);  // backbone, heads, heads_backward, backbone_backward
  const ReducerTraits traits = reducer.traits();
  // Buckets have already left from backward's hooks: launch sends the others.
  if (!traits.idle) all.push_back({"launch", Phase::kOther, [&reducer](bool) { reducer.launch(); }, "", traits.not_capturable});
  all.push_back({kNextBatch, Phase::kDataWait, [next = std::move(next_batch)](bool) { next(); }});
  if (!traits.idle) all.push_back({kAllReduce, Phase::kCommExposed, [&reducer](bool) { reducer.finish(); }, "", traits.not_capturable});
  all.push_back({"optimizer", Phase::kOptimizer, [&optimizer, &s](bool) { optimizer.step(s.inputs.rates); }, "", optimizer.not_capturable()});
  return all;
}

namespace {

void run(std::span<const Stage> stages, result::PhaseClock& clock) {
  for (std::size_t i = 0; i < stages.size(); ++i) {
    if (i == 0 || stages[i].phase != stages[i - 1].phase) clock.enter(stages[i].phase);
    stages[i].run(/*keep=*/false);
  }
  clock.enter(Phase::kOther);
}

}  // namespace

DetachedLosses EagerRunner::run(StepInputs inputs, result::PhaseClock& clock, const std::function<void()>& next_batch) {
  StepState s{.inputs = std::move(inputs)};
  train::run(stages_of(step_, reducer_, optimizer_, s, next_batch), clock);
  return s.losses;
}

DetachedLosses Step::forward_backward(const model::DeviceBatch& batch, result::PhaseClock& clock) {
  StepState s{.inputs = {.batch = batch, .rates = {}}};
  run(stages(s), clock);
  return s.losses;
}

void EagerStep::cut(Forward& f) {
  const at::NoGradGuard no_grad;
  for (std::size_t l = 0; l < f.cut.size(); ++l) {
    if (f.cut_fixed) f.cut[l].copy_(f.features[l]);
    else f.cut[l] = f.features[l].detach().requires_grad_();
  }
}

void EagerStep::losses_backward(Forward& f, bool keep) const {
  if (clear_.clear) clear_.clear();
  else model_.parameters().flat_gradients().zero_();
  for (at::Tensor& level : f.cut) level.mutable_grad().reset();
  scaled(f.losses.total(), scaler_).backward(/*gradient=*/{}, /*retain_graph=*/keep);
  if (f.gradients_fixed) {
    for (std::size_t l = 0; l < f.cut.size(); ++l) f.gradients[l].copy_(f.cut[l].grad());
  } else {
    f.gradients.clear();
    for (const at::Tensor& level : f.cut) f.gradients.push_back(level.grad());
  }
}

result::Json EagerStep::describe() const {
  return {{"kind", "eager"}, {"shapes", model_.config().shapes}, {"precision", model_.config().precision}, {"ops", model_.ops().name},
          {"zero_grad", clear_.name}};
}

}  // namespace ttt::train
