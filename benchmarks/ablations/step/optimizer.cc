#include "measure/ablation.h"

namespace ttt::ablations {
namespace {

Variant implementation(const char* name) {
  return {.name = name, .change = [name](train::Recipe& r) { r.train.optimizer.implementation = name; }};
}

}  // namespace

Ablation ablate_optimizer() {
  return {.name = "optimizer",
      .question = "What is one fused pass over all weights worth?",
      .claim = "Fused optimizers are much faster; no number.",
      .source = "NVIDIA Performance Tuning Guide talk, ECCV 2020",
      .expectation =
          "Four passes over weights, gradients and momentum become one; on a small model it is the calls that count.",
      .promise = Promise::kClose,
      .rtol = 1e-4,  // another order of a few roundings per weight, grown over the gate's steps
      .variants = {implementation("fused"), implementation("foreach"), implementation("loop")}};
}

}  // namespace ttt::ablations
