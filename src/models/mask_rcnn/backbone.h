// ResNet (He et al. 2016) with a feature pyramid (Lin et al. 2017): image -> P2 .. P6.
#pragma once

#include <array>
#include <vector>

#include "models/layers.h"

namespace ttt::model {

inline constexpr int kLevels = 5;                 // P2 .. P6, strides 4 .. 64
using Pyramid = std::array<at::Tensor, kLevels>;  // each [N, fpn_channels, H / stride, W / stride], channels last

class ResidualBlock {
 public:
  ResidualBlock(ParameterStore& store, const std::string& name, const NormContext& context, std::int64_t in,
      std::int64_t width, std::int64_t stride, bool trainable);
  at::Tensor operator()(const at::Tensor& x, bool training) const;
  std::int64_t out_channels() const { return out_; }

 private:
  std::vector<ConvNorm> path_;
  std::vector<ConvNorm> shortcut_;  // empty: identity
  std::int64_t out_ = 0;
};

class Backbone {
 public:
  Backbone(ParameterStore& store, const NormContext& context);
  Pyramid operator()(const at::Tensor& images, bool training) const;  // images [N, 3, H, W], H and W multiples of 32

 private:
  const DetectionOps* ops_;
  ConvNorm stem_;
  std::vector<std::vector<ResidualBlock>> stages_;
  std::vector<Conv> lateral_, output_;
};

}  // namespace ttt::model
