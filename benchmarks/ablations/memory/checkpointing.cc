#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>

#include "measure/ablation.h"

namespace ttt::ablations {
namespace {

// Activation checkpointing (Chen et al. 2016) of the backbone: its forward pass keeps nothing but the pyramid, and runs again before its
// backward pass. What bounds memory at large images is the backbone's activations, so it is one segment.
class CheckpointedStep final : public train::Step {
 public:
  CheckpointedStep(model::MaskRcnn& model, const train::LossScaler* scaler) : model_(model), scaler_(scaler) {}

  std::vector<train::Stage> stages(train::StepState& s) override {
    struct Forward {
      model::Pyramid pyramid;
      model::Losses losses;
    };
    const auto f = std::make_shared<Forward>();
    const auto forward = [this, &s, f](bool) {
      {
        at::NoGradGuard no_grad;
        f->pyramid = model_.features(s.inputs.batch.images);
      }
      for (at::Tensor& level : f->pyramid) level = level.detach().requires_grad_();
      f->losses = model_.training_losses(f->pyramid, s.inputs.batch);
      s.losses = f->losses.detached();
    };
    const auto backward = [this, &s, f](bool keep) {
      model_.parameters().flat_gradients().zero_();
      for (at::Tensor& level : f->pyramid) level.mutable_grad().reset();
      train::scaled(f->losses.total(), scaler_).backward(/*gradient=*/{}, /*retain_graph=*/keep);
      recompute_and_backward(s.inputs.batch, f->pyramid);
    };
    return {{"forward", result::Phase::kForward, forward}, {"backward", result::Phase::kBackward, backward, "forward"}};
  }
  result::Json describe() const override {
    result::Json built = train::EagerStep(model_).describe();
    built["checkpointed"] = "backbone";
    return built;
  }

 private:
  // Running statistics must see a batch once: what the second forward adds is taken back.
  void recompute_and_backward(const model::DeviceBatch& batch, const model::Pyramid& pyramid) {
    std::vector<std::pair<at::Tensor, at::Tensor>> kept;
    for (model::Parameter& p : model_.parameters().all())
      if (p.buffer) kept.emplace_back(p.value, p.value.clone());
    const model::Pyramid again = model_.features(batch.images);
    std::vector<at::Tensor> roots, gradients;
    for (std::size_t l = 0; l < again.size(); ++l)
      if (pyramid[l].grad().defined()) roots.push_back(again[l]), gradients.push_back(pyramid[l].grad());
    torch::autograd::backward(roots, gradients);
    for (auto& [buffer, value] : kept) buffer.copy_(value);
  }

  model::MaskRcnn& model_;
  const train::LossScaler* scaler_;
};

}  // namespace

Ablation ablate_checkpointing() {
  return {.name = "checkpointing",
          .question = "What does it cost to compute the backbone twice instead of keeping its activations?",
          .claim = "Recomputed activations save memory and cost time; no number.",
          .source = "NVIDIA Performance Tuning Guide talk, ECCV 2020",
          .expectation = "About one forward pass of the backbone more; the counter peak_bytes says what memory it saves.",
          .promise = Promise::kBitwise,
          .variants = {{.name = "activations kept"},
                       {.name = "backbone computed again", .components = [](Components& c) {
                          c.step.replace("checkpointing", [](Run& run) { return std::make_unique<CheckpointedStep>(*run.parts.model, run.parts.scaler.get()); });
                        }}}};
}

}  // namespace ttt::ablations
