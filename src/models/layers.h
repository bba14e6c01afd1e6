// Convolution, normalisation and linear layers over a ParameterStore. Activations are NCHW tensors in channels-last
// memory.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "comm/communicator.h"
#include "models/mask_rcnn/config.h"
#include "models/ops/detection_ops.h"
#include "models/parameters.h"

namespace ttt::model {

struct ConvShape {
  std::int64_t in = 0, out = 0, kernel = 1, stride = 1;
};

// 2-D convolution with padding kernel / 2.
class Conv {
 public:
  Conv() = default;
  Conv(ParameterStore& store, const std::string& name, const ConvShape& shape, const Init& init, bool bias,
      bool trainable = true);
  at::Tensor operator()(const at::Tensor& x) const;  // [N, in, H, W] -> [N, out, H', W'], without a bias
  // With bias, plus `residual` where defined, then ReLU where asked for, in one pass behind the convolution.
  at::Tensor biased(const DetectionOps& ops, const at::Tensor& x, bool relu, const at::Tensor& residual = {}) const;
  // By another weight of the same shape.
  at::Tensor by(const at::Tensor& x, const at::Tensor& weight) const;
  const at::Tensor& weight() const { return weight_->value; }
  const at::Tensor& bias() const { return bias_->value; }

 private:
  Parameter* weight_ = nullptr;
  Parameter* bias_ = nullptr;
  std::int64_t stride_ = 1, padding_ = 0;
};

// What a normalisation needs besides its channels.
struct NormContext {
  const BackboneConfig& config;
  const DetectionOps& ops;
  comm::Communicator* sync = nullptr;  // of norm = sync
};

// A convolution without bias and its normalisation (BackboneConfig::norm).
// frozen: a fixed affine map, its scale folded into the convolution, its offset added where residual and ReLU are.
// batch: statistics of the rank's batch (Ioffe and Szegedy 2015).
//  sync: statistics of the global batch. group: Wu and He 2018.
class ConvNorm {
 public:
  ConvNorm() = default;
  ConvNorm(ParameterStore& store, const std::string& conv_name, const std::string& norm_name, const ConvShape& shape,
      const NormContext& context, bool trainable);
  // norm(conv(x)), plus `residual` where defined, then ReLU where asked for.
  at::Tensor operator()(const at::Tensor& x, bool training, bool relu, const at::Tensor& residual = {}) const;
  // Behind it max pooling of 3 x 3 pixels at every second one: in one pass where nothing is trained.
  at::Tensor pooled(const at::Tensor& x, bool training) const;

 private:
  // y = x * scale + offset
  struct Affine {
    at::Tensor scale, offset;
  };
  struct Frozen : Affine {
    at::Tensor weight;          // the convolution's, scaled; undefined where it is trained
    std::uint32_t version = 0;  // of what they were computed from
  };
  Affine affine() const;
  at::Tensor scaled_weight(const at::Tensor& scale) const;
  const Frozen& frozen() const;
  at::Tensor fixed_statistics(const at::Tensor& x, bool relu, const at::Tensor& residual) const;
  at::Tensor batch_statistics(const at::Tensor& x, bool relu, const at::Tensor& residual) const;
  void update_running(const at::Tensor& mean, const at::Tensor& biased_variance, double count) const;

  Conv conv_;
  Parameter *weight_ = nullptr, *bias_ = nullptr, *mean_ = nullptr, *var_ = nullptr;
  std::string norm_;
  double eps_ = 0, momentum_ = 0;
  std::int64_t groups_ = 1;
  comm::Communicator* sync_ = nullptr;
  const DetectionOps* ops_ = nullptr;
  mutable Frozen frozen_;
};

}  // namespace ttt::model
