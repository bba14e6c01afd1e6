// The head of a region proposal network as convolutions over whole levels.
#pragma once

#include <ATen/ops/cat.h>
#include <ATen/ops/conv2d.h>

#include "models/ops/detection_ops.h"

namespace ttt::model {

// DetectionOps::all_outputs, with a gradient. bias_relu(x, bias): max(0, x + bias).
template <class BiasRelu>
at::Tensor dense_outputs(const AnchorHead& head, const std::array<at::Tensor, 5>& features, const BiasRelu& bias_relu) {
  std::vector<at::Tensor> levels;
  for (const at::Tensor& f : features) {
    const at::Tensor hidden = bias_relu(at::conv2d(f, head.kernel, {}, 1, 1), head.kernel_bias);
    const at::Tensor y = at::conv2d(hidden, head.weight.unsqueeze(-1).unsqueeze(-1), head.bias);
    levels.push_back(y.permute({0, 2, 3, 1}).reshape({f.size(0), -1, head.bias.size(0)}));
  }
  return at::cat(levels, 1).to(at::kFloat);
}

}  // namespace ttt::model
