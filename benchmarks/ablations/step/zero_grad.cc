#include <ATen/ops/_foreach_zero.h>

#include "measure/ablation.h"

namespace ttt::ablations {
namespace {

Variant clear(const char* name, std::function<void(const std::vector<at::Tensor>&)> gradients) {
  const auto step = [name, gradients](Run& run) {
    std::vector<at::Tensor> list;
    for (const model::Parameter* p : run.parts.model->parameters().trainable()) list.push_back(p->value.grad());
    return std::make_unique<train::EagerStep>(*run.parts.model,
        train::ClearGradients{name, [list, gradients] { gradients(list); }}, run.parts.scaler.get(),
        run.recipe.train.accumulate);
  };
  return {.name = name, .components = [step](Components& c) { c.step.replace("zero_grad", step); }};
}

}  // namespace

Ablation ablate_zero_grad() {
  return {.name = "zero_grad",
      .question =
          "How should gradients be cleared: one fill of a flat allocation, one call for a list of tensors, or one call "
          "each?",
      .claim = "Gradients set to None need no memset for each parameter; no number.",
      .source = "NVIDIA Performance Tuning Guide talk, ECCV 2020",
      .expectation =
          "The bytes are the same; a call costs about a microsecond, so it matters where tensors are many and small. "
          "(set_to_none measures the usual advice, where each gradient is an allocation of its own.)",
      .promise = Promise::kBitwise,
      .variants = {{.name = "flat_fill"},
          clear("foreach", [](const std::vector<at::Tensor>& list) { at::_foreach_zero_(list); }),
          clear("each", [](const std::vector<at::Tensor>& list) {
            for (const at::Tensor& g : list) g.zero_();
          })}};
}

}  // namespace ttt::ablations
