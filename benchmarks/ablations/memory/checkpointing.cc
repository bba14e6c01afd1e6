#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>

#include "measure/ablation.h"

namespace ttt::ablations {
namespace {

// Activation checkpointing (Chen et al. 2016) of a model's first section, the backbone of Mask R-CNN: its forward pass
// keeps only its outputs, and runs again before its backward pass. The backbone's activations bound memory at large
// images, so it is one segment.
class CheckpointedStep final : public train::Step {
 public:
  CheckpointedStep(model::Model& model, const train::LossScaler* scaler) : model_(model), scaler_(scaler) {
    if (model.sections().size() != 2)
      throw NotSupported("This model is no backbone with heads in one piece (model.shapes static or dynamic).");
  }

  std::vector<train::Stage> stages(train::StepState& s) override {
    struct Forward {
      std::vector<at::Tensor> features, losses;
    };
    const auto f = std::make_shared<Forward>();
    const std::vector<model::Section> sections = model_.sections();
    const auto forward = [&s, f, backbone = sections[0].run, heads = sections[1].run](const train::Keep&) {
      {
        at::NoGradGuard no_grad;
        f->features = backbone({}, s.inputs.batch);
      }
      for (at::Tensor& feature : f->features) feature = feature.detach().requires_grad_();
      f->losses = heads(f->features, s.inputs.batch);
      s.losses.clear();
      for (const at::Tensor& loss : f->losses) s.losses.push_back(loss.detach());
    };
    const auto backward = [this, &s, f, backbone = sections[0].run](const train::Keep& keep) {
      model_.parameters().flat_gradients().zero_();
      for (at::Tensor& feature : f->features) feature.mutable_grad().reset();
      train::scaled(train::total(f->losses), scaler_).backward(/*gradient=*/{}, /*retain_graph=*/keep.history);
      recompute_and_backward([&] { return backbone({}, s.inputs.batch); }, f->features);
    };
    return {
        {"forward", result::Phase::kForward, forward}, {"backward", result::Phase::kBackward, backward, {"forward"}}};
  }
  result::Json describe() const override {
    result::Json built = train::EagerStep(model_).describe();
    built["checkpointed"] = "backbone";
    return built;
  }

 private:
  // Running statistics must see a batch once: what the second forward adds is taken back.
  template <class Section>
  void recompute_and_backward(const Section& section, const std::vector<at::Tensor>& features) {
    std::vector<std::pair<at::Tensor, at::Tensor>> kept;
    for (model::Parameter& p : model_.parameters().all())
      if (p.buffer) kept.emplace_back(p.value, p.value.clone());
    const std::vector<at::Tensor> again = section();
    std::vector<at::Tensor> roots, gradients;
    for (std::size_t l = 0; l < again.size(); ++l)
      if (features[l].grad().defined()) roots.push_back(again[l]), gradients.push_back(features[l].grad());
    torch::autograd::backward(roots, gradients);
    for (auto& [buffer, value] : kept) buffer.copy_(value);
  }

  model::Model& model_;
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
      .variants = {{.name = "activations kept"}, {.name = "backbone computed again", .components = [](Components& c) {
                                                    c.step.replace("checkpointing", [](Run& run) {
                                                      if (run.recipe.train.accumulate > 1)
                                                        throw NotSupported("A batch in parts is not checkpointed.");
                                                      return std::make_unique<CheckpointedStep>(
                                                          *run.parts.model, run.parts.scaler.get());
                                                    });
                                                  }}}};
}

}  // namespace ttt::ablations
