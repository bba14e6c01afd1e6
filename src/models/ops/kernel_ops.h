// DetectionOps over raw kernels: checks, memory and gradients, written once for the host's kernels (host_ops.cc) and the device's (device_kernels.h).
//
// `Kernels` has the functions of kernels/common/host.h and kernels/batch_norm/host.h as members, with these differences:
//   device()                   where its tensors lie
//   kRoiAligns16Bit            whether roi_align_* take 16-bit features; else they are widened first
//   scale_offset_relu(...)     in place
//   batch_norm_*(..., sync)    takes a Communicator, null for one rank
//   mask_targets_bitmap(..., longest_side, ...)   a bound of any bitmap's sides [pixel]
//   encode_masks(...)          takes tensors: its memory depends on what it finds
#pragma once

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/threshold_backward.h>
#include <ATen/ops/zeros.h>
#include <ATen/record_function.h>
#include <torch/csrc/autograd/custom_function.h>

#include <cstring>

#include "core/error.h"
#include "kernels/common/float16.h"
#include "models/ops/detection_ops.h"

namespace ttt::model {

// Calls f(value) with a value of the kernels' type for tensors of `type`.
template <class F>
void with_float_type(at::ScalarType type, F&& f) {
  if (type == at::kBFloat16) f(kernels::Bfloat16{});
  else if (type == at::kHalf) f(kernels::Float16{});
  else f(float{});
}
inline bool has_float_type(at::ScalarType type) { return type == at::kFloat || type == at::kBFloat16 || type == at::kHalf; }
template <class T>
const T* values(const at::Tensor& t) {
  return static_cast<const T*>(t.const_data_ptr());
}
template <class T>
T* mutable_values(const at::Tensor& t) {
  return static_cast<T*>(t.mutable_data_ptr());
}
inline const float* floats(const at::Tensor& t) { return t.const_data_ptr<float>(); }
inline const std::int32_t* ints(const at::Tensor& t) { return t.const_data_ptr<std::int32_t>(); }
// NHWC memory of a channels-last feature map.
inline at::Tensor nhwc(const at::Tensor& feature) { return feature.permute({0, 2, 3, 1}).contiguous(); }

// Announces a kernel to torch's profilers, with the tensors that it reads and writes; without one, a test of a flag. In a scope of its own.
#define TTT_ANNOUNCE(name, ...) RECORD_FUNCTION("ttt::" name, std::vector<c10::IValue>({__VA_ARGS__}))

// Lifetime: the kernels outlive the graph of every forward pass, as the model that owns its ops does.
template <class Kernels>
class RoiAlignFunction : public torch::autograd::Function<RoiAlignFunction<Kernels>> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& p2, const at::Tensor& p3, const at::Tensor& p4, const at::Tensor& p5,
                            const at::Tensor& rois, const at::Tensor& roi_image, const kernels::RoiAlignParams& params, const Kernels* kernels) {
    const std::array<at::Tensor, 4> maps = {nhwc(p2), nhwc(p3), nhwc(p4), nhwc(p5)};
    at::Tensor out = at::empty({params.rois, params.pooled, params.pooled, params.channels}, p2.options());
    TTT_ANNOUNCE("roi_align_forward", maps[0], maps[1], maps[2], maps[3], rois, out);
    with_taken_type(p2.scalar_type(), [&]<class T>(T) {
      std::array<const T*, 4> pointers;
      for (int l = 0; l < 4; ++l) pointers[l] = values<T>(maps[l]);
      kernels->roi_align_forward(params, pointers.data(), floats(rois), ints(roi_image), mutable_values<T>(out));
    });
    context->save_for_backward({rois, roi_image});
    context->saved_data["kernels"] = reinterpret_cast<std::int64_t>(kernels);
    context->saved_data["params"] = std::string(reinterpret_cast<const char*>(&params), sizeof params);
    return out.permute({0, 3, 1, 2});
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context, torch::autograd::variable_list grads) {
    kernels::RoiAlignParams params;
    const std::string bytes = context->saved_data["params"].toStringRef();
    std::memcpy(&params, bytes.data(), sizeof params);
    const auto saved = context->get_saved_variables();
    const at::Tensor grad = nhwc(grads[0]);
    std::array<at::Tensor, 4> maps;
    for (int l = 0; l < 4; ++l) maps[l] = at::zeros({params.images, params.height[l], params.width[l], params.channels}, grad.options());
    TTT_ANNOUNCE("roi_align_backward", grad, saved[0], maps[0], maps[1], maps[2], maps[3]);
    with_taken_type(grad.scalar_type(), [&]<class T>(T) {
      std::array<T*, 4> pointers;
      for (int l = 0; l < 4; ++l) pointers[l] = mutable_values<T>(maps[l]);
      reinterpret_cast<const Kernels*>(context->saved_data["kernels"].toInt())
          ->roi_align_backward(params, values<T>(grad), floats(saved[0]), ints(saved[1]), pointers.data());
    });
    torch::autograd::variable_list out(8);
    for (int l = 0; l < 4; ++l) out[l] = maps[l].permute({0, 3, 1, 2});
    return out;
  }

 private:
  template <class F>
  static void with_taken_type(at::ScalarType type, F&& f) {
    if constexpr (Kernels::kRoiAligns16Bit) with_float_type(type, f);
    else f(float{});
  }
};

template <class Kernels>
class BatchNormFunction : public torch::autograd::Function<BatchNormFunction<Kernels>> {
 public:
  static torch::autograd::variable_list forward(torch::autograd::AutogradContext* context, const at::Tensor& x_in, const at::Tensor& weight,
                                                const at::Tensor& bias, const std::optional<at::Tensor>& residual, double eps, bool relu,
                                                const Kernels* kernels, comm::Communicator* sync) {
    const at::Tensor x = nhwc(x_in);
    const std::int64_t channels = x.size(3);
    const at::Tensor r = residual ? nhwc(*residual) : at::Tensor();
    const auto of_channels = [&] { return at::empty({channels}, x.options()); };
    at::Tensor y = at::empty_like(x), mean = of_channels(), variance = of_channels(), rstd = of_channels();
    const kernels::BatchNormParams p{.rows = x.numel() / channels, .channels = channels, .eps = static_cast<float>(eps), .relu = relu};
    TTT_ANNOUNCE("batch_norm_forward", x, r, y);
    const std::int64_t rows =
        kernels->batch_norm_forward(p, floats(x), floats(weight), floats(bias), r.defined() ? floats(r) : nullptr, y.mutable_data_ptr<float>(),
                                    mean.mutable_data_ptr<float>(), variance.mutable_data_ptr<float>(), rstd.mutable_data_ptr<float>(), sync);
    context->save_for_backward({x, y, weight, mean, rstd});
    context->saved_data["relu"] = relu;
    context->saved_data["residual"] = residual.has_value();
    context->saved_data["kernels"] = reinterpret_cast<std::int64_t>(kernels);
    context->saved_data["sync"] = reinterpret_cast<std::int64_t>(sync);
    const at::Tensor count = at::scalar_tensor(rows, at::kLong);  // on the host, where it is known
    context->mark_non_differentiable({mean, variance, count});
    return {y.permute({0, 3, 1, 2}), mean, variance, count};
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context, torch::autograd::variable_list grads) {
    const auto saved = context->get_saved_variables();
    const at::Tensor &x = saved[0], &y = saved[1], &weight = saved[2], &mean = saved[3], &rstd = saved[4];
    const std::int64_t channels = x.size(3);
    const bool has_residual = context->saved_data["residual"].toBool();
    const at::Tensor grad = nhwc(grads[0]);
    at::Tensor grad_x = at::empty_like(x), grad_residual = has_residual ? at::empty_like(x) : at::Tensor();
    at::Tensor grad_weight = at::empty_like(mean), grad_bias = at::empty_like(mean);
    const kernels::BatchNormParams p{.rows = x.numel() / channels, .channels = channels, .relu = context->saved_data["relu"].toBool()};
    TTT_ANNOUNCE("batch_norm_backward", grad, x, y, grad_x, grad_residual);
    reinterpret_cast<const Kernels*>(context->saved_data["kernels"].toInt())
        ->batch_norm_backward(p, floats(grad), floats(x), floats(y), floats(weight), floats(mean), floats(rstd), grad_x.mutable_data_ptr<float>(),
                              has_residual ? grad_residual.mutable_data_ptr<float>() : nullptr, grad_weight.mutable_data_ptr<float>(),
                              grad_bias.mutable_data_ptr<float>(), reinterpret_cast<comm::Communicator*>(context->saved_data["sync"].toInt()));
    return {grad_x.permute({0, 3, 1, 2}), grad_weight, grad_bias, has_residual ? grad_residual.permute({0, 3, 1, 2}) : at::Tensor(), at::Tensor(),
            at::Tensor(), at::Tensor(), at::Tensor()};
  }
};

// Overwrites x, which no gradient may need: that of the convolution before it does not. The bias has no gradient.
template <class Kernels>
class BiasReluFunction : public torch::autograd::Function<BiasReluFunction<Kernels>> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x, const at::Tensor& bias, const std::optional<at::Tensor>& residual, bool relu,
                            const Kernels* kernels) {
    const kernels::BatchNormParams p{.rows = x.numel() / x.size(1), .channels = x.size(1), .relu = relu};
    TTT_ANNOUNCE("bias_relu", x, residual ? *residual : at::Tensor(), x);  // read and written
    with_float_type(x.scalar_type(), [&]<class T>(T) {
      kernels->scale_offset_relu(p, nullptr, floats(bias), residual ? values<T>(*residual) : nullptr, mutable_values<T>(x));
    });
    context->mark_dirty({x});
    if (relu) context->save_for_backward({x});
    context->saved_data["residual"] = residual.has_value();
    return x;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context, torch::autograd::variable_list grads) {
    const auto saved = context->get_saved_variables();
    const at::Tensor grad = saved.empty() ? grads[0] : at::threshold_backward(grads[0], saved[0], 0);
    return {grad, at::Tensor(), context->saved_data["residual"].toBool() ? grad : at::Tensor(), at::Tensor(), at::Tensor()};
  }
};

template <class Kernels>
class KernelOps {
 public:
  KernelOps(std::string name, Kernels kernels) : name_(std::move(name)), kernels_(std::move(kernels)) {}

  Normalised batch_norm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, const at::Tensor& residual, double eps, bool relu,
                        comm::Communicator* sync) const {
    // The kernels are of float32. An undefined tensor is no argument of an autograd function; an empty optional is.
    const auto other = residual.defined() ? std::optional(residual.to(at::kFloat)) : std::nullopt;
    const auto out = BatchNormFunction<Kernels>::apply(x.to(at::kFloat), weight, bias, other, eps, relu, &kernels_, sync);
    return {.y = out[0].to(x.scalar_type()), .mean = out[1], .variance = out[2], .rows = out[3].template const_data_ptr<std::int64_t>()[0]};
  }

  at::Tensor roi_align(const kernels::RoiAlignParams& p, const std::array<at::Tensor, 4>& f, const at::Tensor& rois, const at::Tensor& roi_image) const {
    check(rois, at::kFloat, "rois");
    check(roi_image, at::kInt, "roi_image");
    const auto taken = Kernels::kRoiAligns16Bit && has_float_type(f[0].scalar_type()) ? f[0].scalar_type() : at::kFloat;
    const auto level = [&](int i) { return f[i].to(taken); };
    return RoiAlignFunction<Kernels>::apply(level(0), level(1), level(2), level(3), rois, roi_image, p, &kernels_).to(f[0].scalar_type());
  }

  at::Tensor bias_relu(const at::Tensor& x, const at::Tensor& bias, const at::Tensor& residual, bool relu) const {
    check(bias, at::kFloat, "bias");
    if (at::GradMode::is_enabled() && bias.requires_grad()) throw Error(name_ + "_ops: bias_relu has no gradient for the bias. This is a mistake in the caller.");
    if (!has_float_type(x.scalar_type())) throw Error(name_ + "_ops: bias_relu takes 16-bit and 32-bit floating-point numbers, not " + x.toString() + ". This is a mistake in the caller.");
    const auto as_x = [&](const at::Tensor& t) { return t.to(x.scalar_type()).contiguous(at::MemoryFormat::ChannelsLast); };
    return BiasReluFunction<Kernels>::apply(as_x(x), bias, residual.defined() ? std::optional(as_x(residual)) : std::nullopt, relu, &kernels_);
  }

  at::Tensor match(const kernels::MatchParams& p, const at::Tensor& gt, const at::Tensor& gt_count, const at::Tensor& candidates, const at::Tensor& visible) const {
    check(gt, at::kFloat, "gt");
    check(gt_count, at::kInt, "gt_count");
    check(candidates, at::kFloat, "candidates");
    if (visible.defined()) check(visible, at::kByte, "visible");
    at::Tensor matched = new_ints({p.images, p.candidates});
    TTT_ANNOUNCE("match", gt, candidates, matched);
    kernels_.match(p, floats(gt), ints(gt_count), floats(candidates), visible.defined() ? visible.const_data_ptr<std::uint8_t>() : nullptr,
                   matched.mutable_data_ptr<std::int32_t>());
    return matched;
  }

  Sampled sample(const kernels::SampleParams& p, const at::Tensor& key, const at::Tensor& matched, const at::Tensor& image_id) const {
    check(key, at::kLong, "key");
    check(matched, at::kInt, "matched");
    check(image_id, at::kLong, "image_id");
    Sampled s{.index = new_ints({p.images, p.size}), .positives = new_ints({p.images}), .total = new_ints({p.images})};
    TTT_ANNOUNCE("sample", matched, s.index);
    kernels_.sample(p, key.const_data_ptr<std::int64_t>(), ints(matched), image_id.const_data_ptr<std::int64_t>(), s.index.mutable_data_ptr<std::int32_t>(),
                    s.positives.mutable_data_ptr<std::int32_t>(), s.total.mutable_data_ptr<std::int32_t>());
    return s;
  }

  at::Tensor encode_boxes(const kernels::BoxCoderParams& p, const at::Tensor& gt, const at::Tensor& reference) const {
    check(gt, at::kFloat, "gt");
    check(reference, at::kFloat, "reference");
    at::Tensor deltas = new_floats(gt.sizes());
    TTT_ANNOUNCE("encode_boxes", gt, reference, deltas);
    kernels_.encode_boxes(p, gt.numel() / 4, floats(gt), floats(reference), deltas.mutable_data_ptr<float>());
    return deltas;
  }

  Proposals proposals(const kernels::ProposalParams& p, const at::Tensor& logits, const at::Tensor& deltas, const at::Tensor& anchors,
                      const at::Tensor& image_size) const {
    check(logits, at::kFloat, "logits");
    check(deltas, at::kFloat, "deltas");
    check(anchors, at::kFloat, "anchors");
    check(image_size, at::kInt, "image_size");
    Proposals out{.boxes = new_floats({p.images, p.post_nms, 4}), .scores = new_floats({p.images, p.post_nms}), .count = new_ints({p.images})};
    TTT_ANNOUNCE("proposals", logits, deltas, anchors, out.boxes);
    kernels_.proposals(p, floats(logits), floats(deltas), floats(anchors), ints(image_size), out.boxes.mutable_data_ptr<float>(),
                       out.scores.mutable_data_ptr<float>(), out.count.mutable_data_ptr<std::int32_t>());
    return out;
  }

  Detected detections(const kernels::DetectionParams& p, const at::Tensor& probabilities, const at::Tensor& deltas, const at::Tensor& rois,
                      const at::Tensor& roi_count, const at::Tensor& image_size) const {
    check(probabilities, at::kFloat, "probabilities");
    check(deltas, at::kFloat, "deltas");
    check(rois, at::kFloat, "rois");
    check(roi_count, at::kInt, "roi_count");
    check(image_size, at::kInt, "image_size");
    Detected out{.boxes = new_floats({p.images, p.detections, 4}), .score = new_floats({p.images, p.detections}),
                 .label = new_ints({p.images, p.detections}), .count = new_ints({p.images})};
    TTT_ANNOUNCE("detections", probabilities, deltas, rois, out.boxes);
    kernels_.detections(p, floats(probabilities), floats(deltas), floats(rois), ints(roi_count), ints(image_size), out.boxes.mutable_data_ptr<float>(),
                        out.score.mutable_data_ptr<float>(), out.label.mutable_data_ptr<std::int32_t>(), out.count.mutable_data_ptr<std::int32_t>());
    return out;
  }

  at::Tensor mask_targets_bitmap(int size, const Masks& masks, const at::Tensor& object, const at::Tensor& rois, const at::Tensor& image_size,
                                 std::int64_t longest_side) const {
    check(object, at::kInt, "object");
    check(rois, at::kFloat, "rois");
    check(masks.bitmap_bytes, at::kByte, "bitmap_bytes");
    check(masks.bitmap_offset, at::kLong, "bitmap_offset");
    check(masks.bitmap_box, at::kInt, "bitmap_box");
    const std::int64_t capacity = masks.bitmap_offset.numel() / image_size.size(0);
    const at::Tensor extent = image_size.index_select(0, object.clamp_min(0).floor_divide(capacity));
    const at::Tensor height = extent.select(1, 0).contiguous(), width = extent.select(1, 1).contiguous();
    at::Tensor out = new_floats({rois.size(0), size, size});
    TTT_ANNOUNCE("mask_targets_bitmap", masks.bitmap_bytes, rois, out);
    kernels_.mask_targets_bitmap({.rois = rois.size(0), .size = size}, longest_side, masks.bitmap_bytes.const_data_ptr<std::uint8_t>(),
                                 masks.bitmap_offset.const_data_ptr<std::int64_t>(), ints(masks.bitmap_box), ints(object), floats(rois), ints(height), ints(width),
                                 out.mutable_data_ptr<float>());
    return out;
  }

  at::Tensor mask_targets_polygon(int size, const Masks& masks, const at::Tensor& object, const at::Tensor& rois) const {
    check(object, at::kInt, "object");
    check(rois, at::kFloat, "rois");
    check(masks.object_polygon, at::kInt, "object_polygon");
    check(masks.polygon_vertex, at::kInt, "polygon_vertex");
    check(masks.vertices, at::kFloat, "vertices");
    at::Tensor out = new_floats({rois.size(0), size, size});
    TTT_ANNOUNCE("mask_targets_polygon", masks.vertices, rois, out);
    kernels_.mask_targets_polygon({.rois = rois.size(0), .size = size}, {ints(masks.object_polygon), ints(masks.polygon_vertex), floats(masks.vertices)},
                                  ints(object), floats(rois), out.mutable_data_ptr<float>());
    return out;
  }

  std::vector<coco::Rle> encode_masks(const at::Tensor& masks, const at::Tensor& boxes, const at::Tensor& image_size) const {
    check(masks, at::kFloat, "masks");
    const bool placed = boxes.is_cpu() && boxes.is_contiguous() && boxes.scalar_type() == at::kFloat && image_size.is_cpu() && image_size.is_contiguous() &&
                        image_size.scalar_type() == at::kInt && boxes.numel() == 4 * masks.size(0) && image_size.numel() == 2 * masks.size(0);
    if (!placed) throw Error(name_ + "_ops: each mask wants a box of float32 and a size of int32 in host memory. This is a mistake in the caller.");
    if (masks.size(0) == 0) return {};
    TTT_ANNOUNCE("encode_masks", masks);
    return kernels_.encode_masks(masks, boxes, image_size);
  }

  at::Tensor place_images(bool antialias, bool bgr, const RawImages& raw, const at::Tensor& image_size, const at::Tensor& values) const {
    check(raw.bytes, at::kByte, "bytes");
    check(raw.offset, at::kLong, "offset");
    check(raw.size, at::kInt, "size");
    check(raw.flipped, at::kByte, "flipped");
    check(image_size, at::kInt, "image_size");
    check(values, at::kFloat, "values");
    at::Tensor images = new_floats({raw.size.size(0), raw.height, raw.width, 3});
    TTT_ANNOUNCE("place_images", raw.bytes, images);
    kernels_.place_images({.images = raw.size.size(0), .height = raw.height, .width = raw.width, .antialias = antialias, .bgr = bgr},
                          {raw.bytes.const_data_ptr<std::uint8_t>(), raw.offset.const_data_ptr<std::int64_t>(), ints(raw.size), ints(image_size),
                           raw.flipped.const_data_ptr<std::uint8_t>()},
                          floats(values), images.mutable_data_ptr<float>());
    return images.permute({0, 3, 1, 2});
  }

 private:
  // A kernel reads raw memory: what it is given must be what it expects.
  void check(const at::Tensor& t, at::ScalarType dtype, const char* what) const {
    if (t.device().type() != kernels_.device().type() || t.scalar_type() != dtype || !t.is_contiguous())
      throw Error(name_ + "_ops: '" + what + "' must be a contiguous tensor of type " + c10::toString(dtype) + " on " + kernels_.device().str() + ", not " +
                  t.toString() + " on " + t.device().str() + ". This is a mistake in the caller.");
  }
  at::Tensor new_floats(at::IntArrayRef shape) const { return at::empty(shape, at::TensorOptions(at::kFloat).device(kernels_.device())); }
  at::Tensor new_ints(at::IntArrayRef shape) const { return at::empty(shape, at::TensorOptions(at::kInt).device(kernels_.device())); }

  std::string name_;
  Kernels kernels_;
};

template <class Kernels>
DetectionOps kernel_ops(const std::string& name, Kernels kernels) {
  using Ops = KernelOps<Kernels>;
  const auto ops = std::make_shared<const Ops>(name, std::move(kernels));
  const auto bound = [ops](auto member) { return [ops, member](auto&&... arguments) { return ((*ops).*member)(arguments...); }; };
  return {.name = name,
          .batch_norm = bound(&Ops::batch_norm),
          .bias_relu = bound(&Ops::bias_relu),
          .roi_align = bound(&Ops::roi_align),
          .match = bound(&Ops::match),
          .sample = bound(&Ops::sample),
          .encode_boxes = bound(&Ops::encode_boxes),
          .proposals = bound(&Ops::proposals),
          .detections = bound(&Ops::detections),
          .mask_targets_bitmap = bound(&Ops::mask_targets_bitmap),
          .mask_targets_polygon = bound(&Ops::mask_targets_polygon),
          .encode_masks = bound(&Ops::encode_masks),
          .place_images = bound(&Ops::place_images)};
}

#undef TTT_ANNOUNCE

}  // namespace ttt::model
