// DetectionOps over raw kernels: checks, memory and gradients, once for the host's kernels (host_ops.cc) and the
// device's (device_kernels.h).
//
// `Kernels` has the operations of kernels/ as members, with their arguments up to pool, workspace and stream. Besides:
//   device()                   of its tensors
//   kGathers16Bit              whether roi_align_*, patches_* and mask_logits_* take 16-bit features; else they are
//                              widened first
//   batch_norm_*(..., sync)    take a Communicator, null for one rank
//   encode_masks(...)          takes tensors: its memory depends on their contents
#pragma once

#include "core/error.h"
#include "models/ops/dense_outputs.h"
#include "models/ops/detection_ops.h"
#include "models/ops/kernel_functions.h"

namespace ttt::model {

inline kernels::SumOverRanks sum_over(comm::Communicator* sync) {
  if (!sync) return {};
  return [sync](double* values, std::size_t count) { sync->all_reduce_sum(values, count); };
}

template <class Kernels> class KernelOps {
 public:
  KernelOps(std::string name, Kernels kernels) : name_(std::move(name)), kernels_(std::move(kernels)) {}

  Normalised batch_norm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
      const at::Tensor& residual, double eps, bool relu, comm::Communicator* sync) const {
    // The kernels are of float32. An undefined tensor is no argument of an autograd function; an empty optional is.
    const auto other = residual.defined() ? std::optional(residual.to(at::kFloat)) : std::nullopt;
    const auto out =
        BatchNormFunction<Kernels>::apply(x.to(at::kFloat), weight, bias, other, eps, relu, &kernels_, sync);
    return {.y = out[0].to(x.scalar_type()),
        .mean = out[1],
        .variance = out[2],
        .rows = out[3].template const_data_ptr<std::int64_t>()[0]};
  }

  Features share(const std::array<at::Tensor, 5>& f) const {
    const auto gradient = c10::make_intrusive<FeatureGradient>();
    const auto own = SharedFunction::apply(f[0], f[1], f[2], f[3], f[4], taken_type(f[0]), gradient);
    return {.map = {own[0], own[1], own[2], own[3], own[4]}, .gradient = gradient};
  }

  at::Tensor roi_align(
      const kernels::RoiAlignParams& p, const Features& f, const at::Tensor& rois, const at::Tensor& roi_image) const {
    in_of<float>(rois, "rois"), in_of<std::int32_t>(roi_image, "roi_image");
    const auto level = [&](int i) { return f[i].to(taken_type(f[0])); };
    return RoiAlignFunction<Kernels>::apply(
        level(0), level(1), level(2), level(3), rois, roi_image, p, &kernels_, f.gradient)
        .to(f[0].scalar_type());
  }

  // Without a gradient: the loss hangs on a hundredth of the anchors.
  at::Tensor all_outputs(const AnchorHead& head, const std::array<at::Tensor, 5>& features) const {
    const at::NoGradGuard no_grad;
    return dense_outputs(
        head, features, [this](const at::Tensor& x, const at::Tensor& bias) { return bias_relu(x, bias, {}, true); });
  }

  at::Tensor chosen_outputs(const AnchorHead& head, const Features& f, const at::Tensor&, const at::Tensor& index,
      const at::Tensor& count) const {
    in_of<std::int32_t>(index, "index"), in_of<std::int32_t>(count, "count");
    kernels::PatchParams p;
    p.levels = 5, p.images = index.size(0), p.channels = f[0].size(1), p.kinds = head.kinds, p.rows = index.size(1);
    for (int l = 0; l < p.levels; ++l) p.height[l] = f[l].size(2), p.width[l] = f[l].size(3);
    const auto level = [&](int i) { return f[i].to(taken_type(f[0])); };
    const at::Tensor patches = PatchFunction<Kernels>::apply(
        level(0), level(1), level(2), level(3), level(4), index, count, p, &kernels_, f.gradient);
    // The kernel lies as [out, 3, 3, in] in memory, which is a patch's order.
    const at::Tensor matrix = head.kernel.permute({0, 2, 3, 1}).reshape({head.kernel.size(0), -1});
    const at::Tensor hidden = at::linear(patches.to(f[0].scalar_type()), matrix, head.kernel_bias).relu_();
    return at::linear(hidden, head.weight, head.bias).to(at::kFloat).view({p.images, p.rows, -1});
  }

  at::Tensor mask_logits(const MaskPredictor& head, const at::Tensor& blocks, const at::Tensor& label) const {
    in_of<float>(head.bias, "bias"), in_of<float>(head.weight, "weight");
    in_of<float>(head.weight_bias, "weight_bias"), in_of<std::int32_t>(label, "label");
    const kernels::MaskLogitsParams p{.rows = blocks.size(0),
        .channels = blocks.size(5),
        .classes = head.weight.size(0),
        .pooled = static_cast<int>(blocks.size(1))};
    return MaskLogitsFunction<Kernels>::apply(
        blocks.to(taken_type(blocks)).contiguous(), head.bias, head.weight, head.weight_bias, label, p, &kernels_);
  }

  at::Tensor bias_relu(const at::Tensor& x, const at::Tensor& bias, const at::Tensor& residual, bool relu) const {
    in_of<float>(bias, "bias");
    if (!has_float_type(x.scalar_type()))
      throw Error(name_ + "_ops: bias_relu takes 16-bit and 32-bit floating-point numbers, not " + x.toString() +
                  ". This is a mistake in the caller.");
    const auto as_x = [&](const at::Tensor& t) {
      return t.to(x.scalar_type()).contiguous(at::MemoryFormat::ChannelsLast);
    };
    return BiasReluFunction<Kernels>::apply(
        as_x(x), bias, residual.defined() ? std::optional(as_x(residual)) : std::nullopt, relu, &kernels_);
  }

  at::Tensor offset_relu_pool(const at::Tensor& x, const at::Tensor& offset) const {
    in_of<float>(offset, "offset");
    if (at::GradMode::is_enabled() && (x.requires_grad() || offset.requires_grad()))
      throw Error(name_ + "_ops: offset_relu_pool has no gradient. This is a mistake in the caller.");
    const kernels::MaxPoolParams p{.images = x.size(0), .height = x.size(2), .width = x.size(3), .channels = x.size(1)};
    const at::Tensor from = nhwc(x);
    at::Tensor y =
        at::empty({p.images, kernels::pooled_size(p.height), kernels::pooled_size(p.width), p.channels}, x.options());
    TTT_ANNOUNCE("offset_relu_pool", from, y);
    with_float_type(x.scalar_type(),
        [&]<class T>(T) { kernels_.offset_relu_pool(p, values<T>(from), floats(offset), mutable_values<T>(y)); });
    return y.permute({0, 3, 1, 2});
  }

  at::Tensor match(const kernels::MatchParams& p, const at::Tensor& gt, const at::Tensor& gt_count,
      const at::Tensor& candidates, const at::Tensor& visible) const {
    const kernels::MatchIn in{in_of<float>(gt, "gt"), in_of<std::int32_t>(gt_count, "gt_count"),
        in_of<float>(candidates, "candidates"), visible.defined() ? in_of<std::uint8_t>(visible, "visible") : nullptr};
    at::Tensor matched = new_ints({p.images, p.candidates});
    TTT_ANNOUNCE("match", gt, candidates, matched);
    kernels_.match(p, in, mutable_values<std::int32_t>(matched));
    return matched;
  }

  Sampled sample(const kernels::SampleParams& p, const at::Tensor& key, const at::Tensor& matched,
      const at::Tensor& image_id) const {
    const kernels::SampleIn in{in_of<std::int64_t>(key, "key"), in_of<std::int32_t>(matched, "matched"),
        in_of<std::int64_t>(image_id, "image_id")};
    Sampled s{.index = new_ints({p.images, p.size}), .positives = new_ints({p.images}), .total = new_ints({p.images})};
    TTT_ANNOUNCE("sample", matched, s.index);
    kernels_.sample(p, in,
        kernels::SampleOut{mutable_values<std::int32_t>(s.index), mutable_values<std::int32_t>(s.positives),
            mutable_values<std::int32_t>(s.total)});
    return s;
  }

  at::Tensor encode_boxes(const kernels::BoxCoderParams& p, const at::Tensor& gt, const at::Tensor& reference) const {
    const float *target = in_of<float>(gt, "gt"), *from = in_of<float>(reference, "reference");
    at::Tensor deltas = new_floats(gt.sizes());
    TTT_ANNOUNCE("encode_boxes", gt, reference, deltas);
    kernels_.encode_boxes(p, gt.numel() / 4, target, from, mutable_values<float>(deltas));
    return deltas;
  }

  Proposals proposals(const kernels::ProposalParams& p, const at::Tensor& logits, const at::Tensor& deltas,
      const at::Tensor& anchors, const at::Tensor& image_size) const {
    const kernels::ProposalsIn in{in_of<float>(logits, "logits"), in_of<float>(deltas, "deltas"),
        in_of<float>(anchors, "anchors"), in_of<std::int32_t>(image_size, "image_size")};
    Proposals out{.boxes = new_floats({p.images, p.post_nms, 4}),
        .scores = new_floats({p.images, p.post_nms}),
        .count = new_ints({p.images})};
    TTT_ANNOUNCE("proposals", logits, deltas, anchors, out.boxes);
    kernels_.proposals(p, in,
        kernels::ProposalsOut{mutable_values<float>(out.boxes), mutable_values<float>(out.scores),
            mutable_values<std::int32_t>(out.count)});
    return out;
  }

  Detected detections(const kernels::DetectionParams& p, const at::Tensor& probabilities, const at::Tensor& deltas,
      const at::Tensor& rois, const at::Tensor& roi_count, const at::Tensor& image_size) const {
    const kernels::DetectionsIn in{in_of<float>(probabilities, "probabilities"), in_of<float>(deltas, "deltas"),
        in_of<float>(rois, "rois"), in_of<std::int32_t>(roi_count, "roi_count"),
        in_of<std::int32_t>(image_size, "image_size")};
    Detected out{.boxes = new_floats({p.images, p.detections, 4}),
        .score = new_floats({p.images, p.detections}),
        .label = new_ints({p.images, p.detections}),
        .count = new_ints({p.images})};
    TTT_ANNOUNCE("detections", probabilities, deltas, rois, out.boxes);
    kernels_.detections(p, in,
        kernels::DetectionsOut{mutable_values<float>(out.boxes), mutable_values<float>(out.score),
            mutable_values<std::int32_t>(out.label), mutable_values<std::int32_t>(out.count)});
    return out;
  }

  at::Tensor mask_targets_bitmap(int size, const Masks& masks, const at::Tensor& object, const at::Tensor& rois,
      const at::Tensor& image_size, std::int64_t longest_side) const {
    const std::int64_t capacity = masks.bitmap_offset.numel() / image_size.size(0);
    const at::Tensor extent = image_size.index_select(0, object.clamp_min(0).floor_divide(capacity));
    const at::Tensor height = extent.select(1, 0).contiguous(), width = extent.select(1, 1).contiguous();
    const kernels::BitmapTargetsIn in{in_of<std::uint8_t>(masks.bitmap_bytes, "bitmap_bytes"),
        in_of<std::int64_t>(masks.bitmap_offset, "bitmap_offset"), in_of<std::int32_t>(masks.bitmap_box, "bitmap_box"),
        in_of<std::int32_t>(object, "object"), in_of<float>(rois, "rois"), in_of<std::int32_t>(height, "height"),
        in_of<std::int32_t>(width, "width")};
    at::Tensor out = new_floats({rois.size(0), size, size});
    TTT_ANNOUNCE("mask_targets_bitmap", masks.bitmap_bytes, rois, out);
    const kernels::MaskTargetParams p{.rois = rois.size(0), .size = size, .longest_side = longest_side};
    kernels_.mask_targets_bitmap(p, in, mutable_values<float>(out));
    return out;
  }

  at::Tensor mask_targets_polygon(
      int size, const Masks& masks, const at::Tensor& object, const at::Tensor& rois) const {
    const kernels::PolygonView polygons{in_of<std::int32_t>(masks.object_polygon, "object_polygon"),
        in_of<std::int32_t>(masks.polygon_vertex, "polygon_vertex"), in_of<float>(masks.vertices, "vertices")};
    at::Tensor out = new_floats({rois.size(0), size, size});
    TTT_ANNOUNCE("mask_targets_polygon", masks.vertices, rois, out);
    kernels_.mask_targets_polygon(kernels::MaskTargetParams{.rois = rois.size(0), .size = size}, polygons,
        in_of<std::int32_t>(object, "object"), in_of<float>(rois, "rois"), mutable_values<float>(out));
    return out;
  }

  std::vector<coco::Rle> encode_masks(
      const at::Tensor& masks, const at::Tensor& boxes, const at::Tensor& image_size) const {
    in_of<float>(masks, "masks");
    const auto on_host = [&](const at::Tensor& t, at::ScalarType type, std::int64_t values) {
      return t.is_cpu() && t.is_contiguous() && t.scalar_type() == type && t.numel() == values * masks.size(0);
    };
    if (!on_host(boxes, at::kFloat, 4) || !on_host(image_size, at::kInt, 2))
      throw Error(name_ +
                  "_ops: each mask wants a box of float32 and a size of int32 in host memory. This is a mistake in the "
                  "caller.");
    if (masks.size(0) == 0) return {};
    TTT_ANNOUNCE("encode_masks", masks);
    return kernels_.encode_masks(masks, boxes, image_size);
  }

  at::Tensor preprocess(
      bool antialias, bool bgr, const RawImages& raw, const at::Tensor& image_size, const at::Tensor& values) const {
    const kernels::RawImagesView view{in_of<std::uint8_t>(raw.bytes, "bytes"),
        in_of<std::int64_t>(raw.offset, "offset"), in_of<std::int32_t>(raw.size, "size"),
        in_of<std::int32_t>(image_size, "image_size"), in_of<std::uint8_t>(raw.flipped, "flipped")};
    at::Tensor images = new_floats({raw.size.size(0), raw.height, raw.width, 3});
    TTT_ANNOUNCE("preprocess", raw.bytes, images);
    const kernels::PreprocessParams p{
        .images = raw.size.size(0), .height = raw.height, .width = raw.width, .antialias = antialias, .bgr = bgr};
    kernels_.preprocess(p, view, in_of<float>(values, "values"), mutable_values<float>(images));
    return images.permute({0, 3, 1, 2});
  }

 private:
  // Of features, by the kernels that gather from them.
  static at::ScalarType taken_type(const at::Tensor& t) {
    return Kernels::kGathers16Bit && has_float_type(t.scalar_type()) ? t.scalar_type() : at::kFloat;
  }
  // The memory of `t`, whose type, device and layout are checked: a kernel reads raw memory.
  template <class T> const T* in_of(const at::Tensor& t, const char* what) const {
    constexpr at::ScalarType kType = c10::CppTypeToScalarType<T>::value;
    if (t.device().type() != kernels_.device().type() || t.scalar_type() != kType || !t.is_contiguous())
      throw Error(name_ + "_ops: '" + what + "' must be a contiguous tensor of type " + c10::toString(kType) + " on " +
                  kernels_.device().str() + ", not " + t.toString() + " on " + t.device().str() +
                  ". This is a mistake in the caller.");
    return t.const_data_ptr<T>();
  }
  at::Tensor new_floats(at::IntArrayRef shape) const {
    return at::empty(shape, at::TensorOptions(at::kFloat).device(kernels_.device()));
  }
  at::Tensor new_ints(at::IntArrayRef shape) const {
    return at::empty(shape, at::TensorOptions(at::kInt).device(kernels_.device()));
  }

  std::string name_;
  Kernels kernels_;
};

template <class Kernels> DetectionOps kernel_ops(const std::string& name, Kernels kernels) {
  using Ops = KernelOps<Kernels>;
  const auto ops = std::make_shared<const Ops>(name, std::move(kernels));
  const auto bound = [ops](auto member) {
    return [ops, member](auto&&... arguments) { return ((*ops).*member)(arguments...); };
  };
  return {.name = name,
      .batch_norm = bound(&Ops::batch_norm),
      .bias_relu = bound(&Ops::bias_relu),
      .offset_relu_pool = bound(&Ops::offset_relu_pool),
      .share = bound(&Ops::share),
      .roi_align = bound(&Ops::roi_align),
      .all_outputs = bound(&Ops::all_outputs),
      .chosen_outputs = bound(&Ops::chosen_outputs),
      .mask_logits = bound(&Ops::mask_logits),
      .match = bound(&Ops::match),
      .sample = bound(&Ops::sample),
      .encode_boxes = bound(&Ops::encode_boxes),
      .proposals = bound(&Ops::proposals),
      .detections = bound(&Ops::detections),
      .mask_targets_bitmap = bound(&Ops::mask_targets_bitmap),
      .mask_targets_polygon = bound(&Ops::mask_targets_polygon),
      .encode_masks = bound(&Ops::encode_masks),
      .preprocess = bound(&Ops::preprocess)};
}

#undef TTT_ANNOUNCE

}  // namespace ttt::model
