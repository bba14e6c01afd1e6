// Autograd functions over raw kernels, and how kernels read tensors. `Kernels`: see kernel_ops.h.
//
// Lifetime: the kernels outlive the graph of every forward pass, as the model that owns its ops does.
#pragma once

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/threshold_backward.h>
#include <ATen/ops/zeros.h>
#include <ATen/record_function.h>
#include <torch/csrc/autograd/custom_function.h>

#include <cstring>
#include <tuple>
#include <utility>

#include "comm/communicator.h"
#include "kernels/batch_norm/batch_norm.h"
#include "kernels/mask_logits/mask_logits.h"
#include "kernels/max_pool/max_pool.h"
#include "kernels/patches/patches.h"
#include "kernels/roi_align/roi_align.h"
#include "models/ops/feature_gradient.h"

namespace ttt::model {

// Calls f(T()) with the kernels' type for tensors of `type`.
template <class F> void with_float_type(at::ScalarType type, F&& f) {
  if (type == at::kBFloat16) f(kernels::Bfloat16{});
  else if (type == at::kHalf) f(kernels::Float16{});
  else f(float{});
}
inline bool has_float_type(at::ScalarType type) {
  return type == at::kFloat || type == at::kBFloat16 || type == at::kHalf;
}
template <class T> const T* values(const at::Tensor& t) { return static_cast<const T*>(t.const_data_ptr()); }
template <class T> T* mutable_values(const at::Tensor& t) { return static_cast<T*>(t.mutable_data_ptr()); }
inline const float* floats(const at::Tensor& t) { return t.const_data_ptr<float>(); }
inline const std::int32_t* ints(const at::Tensor& t) { return t.const_data_ptr<std::int32_t>(); }
// NHWC memory of a channels-last feature map.
inline at::Tensor nhwc(const at::Tensor& feature) { return feature.permute({0, 2, 3, 1}).contiguous(); }

// Announces a kernel to torch's profilers, with the tensors that it reads and writes; without a profiler a test of a
// flag. It lasts to the end of the scope.
#define TTT_ANNOUNCE(name, ...) RECORD_FUNCTION("ttt::" name, std::vector<c10::IValue>({__VA_ARGS__}))

// The same for kernels that gather from features.
template <class Kernels, class F> void with_taken_type(at::ScalarType type, F&& f) {
  if constexpr (Kernels::kGathers16Bit) with_float_type(type, f);
  else f(float{});
}

// What the backward pass of such a kernel needs besides tensors.
template <class Params, class Kernels>
void keep(torch::autograd::AutogradContext* context, const Params& params, const Kernels* kernels) {
  context->saved_data["kernels"] = reinterpret_cast<std::int64_t>(kernels);
  context->saved_data["params"] = std::string(reinterpret_cast<const char*>(&params), sizeof params);
}
template <class Params> Params kept_params(torch::autograd::AutogradContext* context) {
  Params params;
  std::memcpy(&params, context->saved_data["params"].toStringRef().data(), sizeof params);
  return params;
}
template <class Kernels> const Kernels* kept_kernels(torch::autograd::AutogradContext* context) {
  return reinterpret_cast<const Kernels*>(context->saved_data["kernels"].toInt());
}

// A pyramid's maps in NHWC memory.
template <std::size_t kLevels> using Maps = std::array<at::Tensor, kLevels>;
template <class T, std::size_t kLevels> std::array<T*, kLevels> pointers_to(const Maps<kLevels>& maps) {
  std::array<T*, kLevels> all;
  for (std::size_t l = 0; l < kLevels; ++l) {
    if constexpr (std::is_const_v<T>) all[l] = values<std::remove_const_t<T>>(maps[l]);
    else all[l] = mutable_values<T>(maps[l]);
  }
  return all;
}

// Where a backward pass adds the gradients of a pyramid's first kLevels maps: maps of its own, or those that it shares.
template <std::size_t kLevels> class GradientMaps {
 public:
  template <class Params>
  GradientMaps(torch::autograd::AutogradContext* context, const Params& p, const at::TensorOptions& options) {
    if (const auto& kept = context->saved_data["gradient"]; !kept.isNone())
      shared_ = c10::static_intrusive_pointer_cast<FeatureGradient>(kept.toCapsule());
    for (std::size_t l = 0; l < kLevels; ++l) {
      at::Tensor& map = shared_ ? shared_->map[l] : maps_[l];
      if (!map.defined()) map = at::zeros({p.images, p.height[l], p.width[l], p.channels}, options);
      maps_[l] = map;
    }
  }
  static void keep(torch::autograd::AutogradContext* context, const c10::intrusive_ptr<FeatureGradient>& shared) {
    context->saved_data["gradient"] = shared ? c10::IValue::make_capsule(shared) : c10::IValue();
  }
  const Maps<kLevels>& maps() const { return maps_; }
  // Gradients of the first arguments, of `arguments` in all.
  torch::autograd::variable_list of(int arguments) const {
    torch::autograd::variable_list out(static_cast<std::size_t>(arguments));
    if (shared_) return out;  // SharedFunction has them
    for (std::size_t l = 0; l < kLevels; ++l) out[l] = maps_[l].permute({0, 3, 1, 2});
    return out;
  }

 private:
  c10::intrusive_ptr<FeatureGradient> shared_;
  Maps<kLevels> maps_;
};

// DetectionOps::share. Its backward pass comes after those of all readers, and takes what they have added.
class SharedFunction : public torch::autograd::Function<SharedFunction> {
 public:
  static torch::autograd::variable_list forward(torch::autograd::AutogradContext* context, const at::Tensor& p2,
      const at::Tensor& p3, const at::Tensor& p4, const at::Tensor& p5, const at::Tensor& p6, at::ScalarType type,
      const c10::intrusive_ptr<FeatureGradient>& gradient) {
    context->set_materialize_grads(false);
    context->saved_data["type"] = p2.scalar_type();
    GradientMaps<5>::keep(context, gradient);
    torch::autograd::variable_list out;
    for (const at::Tensor* p : {&p2, &p3, &p4, &p5, &p6}) out.push_back(p->to(type));
    return out;
  }

  static torch::autograd::variable_list backward(
      torch::autograd::AutogradContext* context, torch::autograd::variable_list grads) {
    const auto type = context->saved_data["type"].toScalarType();
    const auto gradient =
        c10::static_intrusive_pointer_cast<FeatureGradient>(context->saved_data["gradient"].toCapsule());
    grads.resize(7);
    for (std::size_t l = 0; l < 5; ++l) {
      const at::Tensor added = std::exchange(gradient->map[l], at::Tensor());
      if (added.defined()) {
        const at::Tensor own = added.permute({0, 3, 1, 2});
        grads[l] = grads[l].defined() ? grads[l].add(own) : own;
      }
      if (grads[l].defined()) grads[l] = grads[l].to(type);
    }
    return grads;
  }
};

template <class Kernels> class RoiAlignFunction : public torch::autograd::Function<RoiAlignFunction<Kernels>> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& p2, const at::Tensor& p3,
      const at::Tensor& p4, const at::Tensor& p5, const at::Tensor& rois, const at::Tensor& roi_image,
      const kernels::RoiAlignParams& params, const Kernels* kernels,
      const c10::intrusive_ptr<FeatureGradient>& gradient) {
    const Maps<4> maps = {nhwc(p2), nhwc(p3), nhwc(p4), nhwc(p5)};
    at::Tensor out = at::empty({params.rois, params.pooled, params.pooled, params.channels}, p2.options());
    TTT_ANNOUNCE("roi_align_forward", maps[0], maps[1], maps[2], maps[3], rois, out);
    with_taken_type<Kernels>(p2.scalar_type(), [&]<class T>(T) {
      kernels->roi_align_forward(
          params, pointers_to<const T>(maps).data(), floats(rois), ints(roi_image), mutable_values<T>(out));
    });
    context->save_for_backward({rois, roi_image});
    keep(context, params, kernels);
    GradientMaps<4>::keep(context, gradient);
    return out.permute({0, 3, 1, 2});
  }

  static torch::autograd::variable_list backward(
      torch::autograd::AutogradContext* context, torch::autograd::variable_list grads) {
    const auto params = kept_params<kernels::RoiAlignParams>(context);
    const auto saved = context->get_saved_variables();
    const at::Tensor grad = nhwc(grads[0]);
    const GradientMaps<4> out(context, params, grad.options());
    const Maps<4>& maps = out.maps();
    TTT_ANNOUNCE("roi_align_backward", grad, saved[0], maps[0], maps[1], maps[2], maps[3]);
    with_taken_type<Kernels>(grad.scalar_type(), [&]<class T>(T) {
      kept_kernels<Kernels>(context)->roi_align_backward(
          params, values<T>(grad), floats(saved[0]), ints(saved[1]), pointers_to<T>(maps).data());
    });
    return out.of(9);
  }
};

template <class Kernels> class PatchFunction : public torch::autograd::Function<PatchFunction<Kernels>> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& p2, const at::Tensor& p3,
      const at::Tensor& p4, const at::Tensor& p5, const at::Tensor& p6, const at::Tensor& index,
      const at::Tensor& count, const kernels::PatchParams& params, const Kernels* kernels,
      const c10::intrusive_ptr<FeatureGradient>& gradient) {
    const Maps<5> maps = {nhwc(p2), nhwc(p3), nhwc(p4), nhwc(p5), nhwc(p6)};
    at::Tensor out = at::empty({params.images * params.rows, 9 * params.channels}, p2.options());
    TTT_ANNOUNCE("patches_forward", maps[0], maps[1], maps[2], maps[3], maps[4], index, out);
    with_taken_type<Kernels>(p2.scalar_type(), [&]<class T>(T) {
      kernels->patches_forward(params, pointers_to<const T>(maps).data(), kernels::PatchRows{ints(index), ints(count)},
          mutable_values<T>(out));
    });
    context->save_for_backward({index, count});
    keep(context, params, kernels);
    GradientMaps<5>::keep(context, gradient);
    return out;
  }

  static torch::autograd::variable_list backward(
      torch::autograd::AutogradContext* context, torch::autograd::variable_list grads) {
    const auto params = kept_params<kernels::PatchParams>(context);
    const auto saved = context->get_saved_variables();
    const at::Tensor grad = grads[0].contiguous();
    const GradientMaps<5> out(context, params, grad.options());
    const Maps<5>& maps = out.maps();
    TTT_ANNOUNCE("patches_backward", grad, saved[0], maps[0], maps[1], maps[2], maps[3], maps[4]);
    with_taken_type<Kernels>(grad.scalar_type(), [&]<class T>(T) {
      kept_kernels<Kernels>(context)->patches_backward(
          params, values<T>(grad), kernels::PatchRows{ints(saved[0]), ints(saved[1])}, pointers_to<T>(maps).data());
    });
    return out.of(10);
  }
};

template <class Kernels> class MaskLogitsFunction : public torch::autograd::Function<MaskLogitsFunction<Kernels>> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& blocks, const at::Tensor& bias,
      const at::Tensor& weight, const at::Tensor& weight_bias, const at::Tensor& label,
      const kernels::MaskLogitsParams& params, const Kernels* kernels) {
    at::Tensor out = at::empty({params.rows, 2 * params.pooled, 2 * params.pooled}, bias.options());
    TTT_ANNOUNCE("mask_logits_forward", blocks, weight, out);
    with_taken_type<Kernels>(blocks.scalar_type(), [&]<class T>(T) {
      kernels->mask_logits_forward(
          params, in_of<T>(blocks, bias, weight, label), floats(weight_bias), mutable_values<float>(out));
    });
    context->save_for_backward({blocks, bias, weight, label});
    keep(context, params, kernels);
    return out;
  }

  static torch::autograd::variable_list backward(
      torch::autograd::AutogradContext* context, torch::autograd::variable_list grads) {
    const auto params = kept_params<kernels::MaskLogitsParams>(context);
    const auto saved = context->get_saved_variables();
    const at::Tensor &blocks = saved[0], &bias = saved[1], &weight = saved[2], &label = saved[3];
    const at::Tensor grad = grads[0].contiguous();
    at::Tensor grad_blocks = at::empty_like(blocks), grad_bias = at::empty_like(bias),
               grad_weight = at::empty_like(weight), grad_weight_bias = at::empty({params.classes}, bias.options());
    TTT_ANNOUNCE("mask_logits_backward", grad, blocks, weight, grad_blocks, grad_weight);
    with_taken_type<Kernels>(blocks.scalar_type(), [&]<class T>(T) {
      kept_kernels<Kernels>(context)->mask_logits_backward(params, in_of<T>(blocks, bias, weight, label), floats(grad),
          kernels::MaskLogitsGrad<T>{mutable_values<T>(grad_blocks), mutable_values<float>(grad_bias),
              mutable_values<float>(grad_weight), mutable_values<float>(grad_weight_bias)});
    });
    torch::autograd::variable_list out = {grad_blocks, grad_bias, grad_weight, grad_weight_bias};
    out.resize(7);
    return out;
  }

 private:
  template <class T> static kernels::MaskLogitsIn<T> in_of(
      const at::Tensor& blocks, const at::Tensor& bias, const at::Tensor& weight, const at::Tensor& label) {
    return {values<T>(blocks), ints(label), floats(bias), floats(weight)};
  }
};

template <class Kernels> class BatchNormFunction : public torch::autograd::Function<BatchNormFunction<Kernels>> {
 public:
  static torch::autograd::variable_list forward(torch::autograd::AutogradContext* context, const at::Tensor& x_in,
      const at::Tensor& weight, const at::Tensor& bias, const std::optional<at::Tensor>& residual, double eps,
      bool relu, const Kernels* kernels, comm::Communicator* sync) {
    const at::Tensor x = nhwc(x_in);
    const std::int64_t channels = x.size(3);
    const at::Tensor r = residual ? nhwc(*residual) : at::Tensor();
    const auto of_channels = [&] { return at::empty({channels}, x.options()); };
    at::Tensor y = at::empty_like(x), mean = of_channels(), variance = of_channels(), rstd = of_channels();
    const kernels::BatchNormParams p{
        .rows = x.numel() / channels, .channels = channels, .eps = static_cast<float>(eps), .relu = relu};
    TTT_ANNOUNCE("batch_norm_forward", x, r, y);
    const std::int64_t rows = kernels->batch_norm_forward(p,
        kernels::BatchNormIn{floats(x), floats(weight), floats(bias), r.defined() ? floats(r) : nullptr},
        kernels::BatchNormOut{mutable_values<float>(y), mutable_values<float>(mean), mutable_values<float>(variance),
            mutable_values<float>(rstd)},
        sync);
    context->save_for_backward({x, y, weight, mean, rstd});
    context->saved_data["relu"] = relu;
    context->saved_data["residual"] = residual.has_value();
    context->saved_data["kernels"] = reinterpret_cast<std::int64_t>(kernels);
    context->saved_data["sync"] = reinterpret_cast<std::int64_t>(sync);
    const at::Tensor count = at::scalar_tensor(rows, at::kLong);  // on the host, where it is known
    context->mark_non_differentiable({mean, variance, count});
    return {y.permute({0, 3, 1, 2}), mean, variance, count};
  }

  static torch::autograd::variable_list backward(
      torch::autograd::AutogradContext* context, torch::autograd::variable_list grads) {
    const auto saved = context->get_saved_variables();
    const at::Tensor &x = saved[0], &y = saved[1], &weight = saved[2], &mean = saved[3], &rstd = saved[4];
    const std::int64_t channels = x.size(3);
    const bool has_residual = context->saved_data["residual"].toBool();
    const at::Tensor grad = nhwc(grads[0]);
    at::Tensor grad_x = at::empty_like(x), grad_residual = has_residual ? at::empty_like(x) : at::Tensor();
    at::Tensor grad_weight = at::empty_like(mean), grad_bias = at::empty_like(mean);
    const bool relu = context->saved_data["relu"].toBool();
    const kernels::BatchNormParams p{.rows = x.numel() / channels, .channels = channels, .relu = relu};
    TTT_ANNOUNCE("batch_norm_backward", grad, x, y, grad_x, grad_residual);
    reinterpret_cast<const Kernels*>(context->saved_data["kernels"].toInt())
        ->batch_norm_backward(p,
            kernels::BatchNormGradIn{floats(grad), floats(x), floats(y), floats(weight), floats(mean), floats(rstd)},
            kernels::BatchNormGradOut{mutable_values<float>(grad_x),
                has_residual ? mutable_values<float>(grad_residual) : nullptr, mutable_values<float>(grad_weight),
                mutable_values<float>(grad_bias)},
            reinterpret_cast<comm::Communicator*>(context->saved_data["sync"].toInt()));
    torch::autograd::variable_list out = {grad_x.permute({0, 3, 1, 2}), grad_weight, grad_bias};
    out.resize(8);
    if (has_residual) out[3] = grad_residual.permute({0, 3, 1, 2});
    return out;
  }
};

// Overwrites x, which no gradient may need: that of the convolution before it does not.
template <class Kernels> class BiasReluFunction : public torch::autograd::Function<BiasReluFunction<Kernels>> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x, const at::Tensor& bias,
      const std::optional<at::Tensor>& residual, bool relu, const Kernels* kernels) {
    const kernels::BatchNormParams p{.rows = x.numel() / x.size(1), .channels = x.size(1), .relu = relu};
    TTT_ANNOUNCE("bias_relu", x, residual ? *residual : at::Tensor(), x);  // read and written
    with_float_type(x.scalar_type(), [&]<class T>(T) {
      T* in_place = mutable_values<T>(x);
      const T* added = residual ? values<T>(*residual) : nullptr;
      kernels->scale_offset_relu(p, kernels::ScaleOffsetIn<T>{in_place, nullptr, floats(bias), added}, in_place);
    });
    context->mark_dirty({x});
    if (relu) context->save_for_backward({x});
    keep(context, p, kernels);
    context->saved_data["residual"] = residual.has_value();
    context->saved_data["bias"] = bias.requires_grad();
    return x;
  }

  static torch::autograd::variable_list backward(
      torch::autograd::AutogradContext* context, torch::autograd::variable_list grads) {
    const auto saved = context->get_saved_variables();
    const at::Tensor y = saved.empty() ? at::Tensor() : saved[0];
    at::Tensor grad = grads[0], grad_bias;
    if (context->saved_data["bias"].toBool())
      std::tie(grad, grad_bias) = with_bias(context, nhwc(grad), y.defined() ? nhwc(y) : y);
    else if (y.defined()) grad = at::threshold_backward(grad, y, 0);
    return {
        grad, grad_bias, context->saved_data["residual"].toBool() ? grad : at::Tensor(), at::Tensor(), at::Tensor()};
  }

 private:
  // {gradient of x, of the bias}
  static std::tuple<at::Tensor, at::Tensor> with_bias(
      torch::autograd::AutogradContext* context, const at::Tensor& grad, const at::Tensor& y) {
    const auto p = kept_params<kernels::BatchNormParams>(context);
    at::Tensor masked = p.relu ? at::empty_like(grad) : at::Tensor(),
               grad_bias = at::empty({p.channels}, grad.options().dtype(at::kFloat));
    TTT_ANNOUNCE("bias_relu_backward", grad, y, masked);
    with_float_type(grad.scalar_type(), [&]<class T>(T) {
      kept_kernels<Kernels>(context)->offset_gradient(p,
          kernels::OffsetGradIn<T>{values<T>(grad), p.relu ? values<T>(y) : nullptr},
          kernels::OffsetGradOut<T>{p.relu ? mutable_values<T>(masked) : nullptr, mutable_values<float>(grad_bias)});
    });
    return {(p.relu ? masked : grad).permute({0, 3, 1, 2}), grad_bias};
  }
};

}  // namespace ttt::model
