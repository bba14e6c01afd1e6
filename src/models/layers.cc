#include "models/layers.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/group_norm.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/rsqrt.h>

#include "core/error.h"

namespace ttt::model {
Conv::Conv(
    ParameterStore& store, const std::string& name, const ConvShape& s, const Init& init, bool bias, bool trainable)
    : stride_(s.stride), padding_(s.kernel / 2) {
  weight_ = store.add(name + ".weight", {s.out, s.in, s.kernel, s.kernel}, init, Layout::kChannelsLast, trainable);
  if (bias) bias_ = store.add(name + ".bias", {s.out}, constant(0), Layout::kPlain, trainable);
}

at::Tensor Conv::operator()(const at::Tensor& x) const { return by(x, weight_->value); }

at::Tensor Conv::biased(const DetectionOps& ops, const at::Tensor& x, bool relu, const at::Tensor& residual) const {
  return ops.bias_relu((*this)(x), bias_->value, residual, relu);
}

at::Tensor Conv::by(const at::Tensor& x, const at::Tensor& weight) const {
  return at::conv2d(x, weight, {}, stride_, padding_);
}

ConvNorm::ConvNorm(ParameterStore& store, const std::string& conv_name, const std::string& norm_name,
    const ConvShape& s, const NormContext& context, bool trainable)
    : norm_(context.config.norm), eps_(context.config.norm_eps), momentum_(context.config.norm_momentum),
      groups_(context.config.norm_groups), sync_(context.sync), ops_(&context.ops) {
  const Init init = context.config.init == "kaiming_uniform"
                        ? uniform(kaiming_uniform_bound(s.in * s.kernel * s.kernel, std::sqrt(5.0)))
                        : normal(kaiming_normal_std(s.out * s.kernel * s.kernel));
  conv_ = Conv(store, conv_name, s, init, false, trainable);
  if (norm_ == "frozen") {
    weight_ = store.add_buffer(norm_name + ".weight", {s.out}, 1);
    bias_ = store.add_buffer(norm_name + ".bias", {s.out}, 0);
  } else {
    weight_ = store.add(norm_name + ".weight", {s.out}, constant(1), Layout::kPlain, trainable);
    bias_ = store.add(norm_name + ".bias", {s.out}, constant(0), Layout::kPlain, trainable);
  }
  if (norm_ != "group") {
    mean_ = store.add_buffer(norm_name + ".running_mean", {s.out}, 0);
    var_ = store.add_buffer(norm_name + ".running_var", {s.out}, 1);
  } else if (s.out % groups_ != 0) {
    throw UsageError("model.backbone.norm_groups = " + std::to_string(groups_) + " does not divide the " +
                     std::to_string(s.out) + " channels of '" + conv_name +
                     "'. Choose a divisor of model.backbone.width.");
  }
  if (norm_ == "sync" && !sync_)
    throw UsageError("model.backbone.norm = \"sync\" needs a communicator: run through ttt_maskrcnn.");
}

at::Tensor ConvNorm::operator()(const at::Tensor& x, bool training, bool relu, const at::Tensor& residual) const {
  if ((norm_ == "batch" || norm_ == "sync") && training) return batch_statistics(x, relu, residual);
  if (norm_ != "group") return fixed_statistics(x, relu, residual);
  at::Tensor y = at::group_norm(conv_(x), groups_, weight_->value, bias_->value, eps_);
  if (residual.defined()) y = y + residual;
  return relu ? y.relu_() : y;
}

at::Tensor ConvNorm::pooled(const at::Tensor& x, bool training) const {
  if (norm_ != "frozen" || conv_.weight().requires_grad() || x.requires_grad())
    return at::max_pool2d((*this)(x, training, true), {3, 3}, {2, 2}, {1, 1});
  const Frozen& now = frozen();
  return ops_->offset_relu_pool(conv_.by(x, now.weight), now.offset);
}

ConvNorm::Affine ConvNorm::affine() const {
  const at::Tensor scale = weight_->value * at::rsqrt(var_->value + eps_);
  return {.scale = scale, .offset = bias_->value - mean_->value * scale};
}

at::Tensor ConvNorm::scaled_weight(const at::Tensor& scale) const { return conv_.weight() * scale.view({-1, 1, 1, 1}); }

// Computed where a tensor has changed, which is at the start of a run: five operators fewer for each norm and step. A
// new value takes the place of the old one in memory, where a captured graph reads it.
const ConvNorm::Frozen& ConvNorm::frozen() const {
  const bool trains = conv_.weight().requires_grad();
  std::uint32_t version = 1;
  for (const Parameter* p : {weight_, bias_, mean_, var_}) version += p->value._version();
  if (!trains) version += conv_.weight()._version();
  if (version == frozen_.version) return frozen_;
  const at::NoGradGuard no_grad;
  const Affine now = affine();
  const auto keep = [](at::Tensor& kept, const at::Tensor& value) {
    kept.defined() ? kept.copy_(value) : kept = value;
  };
  keep(frozen_.scale, now.scale), keep(frozen_.offset, now.offset);
  if (!trains) keep(frozen_.weight, scaled_weight(now.scale));
  frozen_.version = version;
  return frozen_;
}

at::Tensor ConvNorm::fixed_statistics(const at::Tensor& x, bool relu, const at::Tensor& residual) const {
  const Frozen now = norm_ == "frozen" ? frozen() : Frozen{affine()};
  const at::Tensor weight = now.weight.defined() ? now.weight : scaled_weight(now.scale);
  return ops_->bias_relu(conv_.by(x, weight), now.offset, residual, relu);
}

at::Tensor ConvNorm::batch_statistics(const at::Tensor& x, bool relu, const at::Tensor& residual) const {
  const Normalised n =
      ops_->batch_norm(conv_(x), weight_->value, bias_->value, residual, eps_, relu, norm_ == "sync" ? sync_ : nullptr);
  update_running(n.mean, n.variance, static_cast<double>(n.rows));
  return n.y;
}

void ConvNorm::update_running(const at::Tensor& mean, const at::Tensor& biased_variance, double count) const {
  at::NoGradGuard no_grad;  // unbiased running variance, as torch.nn.BatchNorm2d
  mean_->value.mul_(1 - momentum_).add_(mean.detach(), momentum_);
  var_->value.mul_(1 - momentum_).add_(biased_variance.detach(), momentum_ * count / (count - 1));
}

}  // namespace ttt::model
