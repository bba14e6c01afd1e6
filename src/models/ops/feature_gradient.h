// A feature pyramid whose readers add their gradients to the same maps. Autograd would give each reader zeroed maps of
// its own, and then add them up: some passes over the largest tensors of the heads.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <array>

namespace ttt::model {

// The readers' sums so far, [N, H, W, C] each; undefined before the first reader.
struct FeatureGradient : torch::CustomClassHolder {
  std::array<at::Tensor, 5> map;
};

struct Features {
  std::array<at::Tensor, 5> map;                 // P2 .. P6, each [N, C, H, W] channels last
  c10::intrusive_ptr<FeatureGradient> gradient;  // null: each reader gives autograd a gradient of its own
  const at::Tensor& operator[](std::size_t level) const { return map[level]; }
};

}  // namespace ttt::model
