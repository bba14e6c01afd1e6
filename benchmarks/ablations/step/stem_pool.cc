#include <ATen/ops/max_pool2d.h>

#include "benchmarks/ablations/replaced_ops.h"

namespace ttt::ablations {
namespace {

void pool_behind_relu(model::DetectionOps& ops) {
  ops.offset_relu_pool = [bias_relu = ops.bias_relu](const at::Tensor& x, const at::Tensor& offset) {
    return at::max_pool2d(bias_relu(x, offset, {}, true), {3, 3}, {2, 2}, {1, 1});
  };
}

}  // namespace

Ablation ablate_stem_pool() {
  return {.name = "stem_pool",
      .question = "What does it bring to pool the stem's result in the pass that adds its offset?",
      .claim = "none known",
      .expectation =
          "Offset and ReLU read and write the largest activation of the backbone, and pooling reads it again and "
          "writes an index of 8 bytes for each result. Only a stem that is not trained allows one pass.",
      .promise = Promise::kBitwise,
      .variants = {
          {.name = "by operators", .components = with_ops("stem_pool", "the stem by operators", pool_behind_relu)},
          {.name = "one pass"}}};
}

}  // namespace ttt::ablations
