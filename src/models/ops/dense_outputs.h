// The head of a region proposal network as convolutions over whole levels.
#pragma once

#include <ATen/ops/cat.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/relu.h>

#include "models/ops/detection_ops.h"

namespace ttt::model {

// DetectionOps::all_outputs, with a gradient.
inline at::Tensor dense_outputs(const AnchorHead& head, const std::array<at::Tensor, 5>& features) {
  std::vector<at::Tensor> levels;
  for (const at::Tensor& f : features) {
    const at::Tensor hidden = at::conv2d(f, head.kernel, head.kernel_bias, 1, 1).relu_();
    const at::Tensor y = at::conv2d(hidden, head.weight.unsqueeze(-1).unsqueeze(-1), head.bias);
    levels.push_back(y.permute({0, 2, 3, 1}).reshape({f.size(0), -1, head.bias.size(0)}));
  }
  return at::cat(levels, 1).to(at::kFloat);
}

}  // namespace ttt::model
