#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

#include "core/error.h"
#include "core/parallel.h"
#include "kernels/host/batch_norm.h"
#include "kernels/host/detection.h"
#include "model/ops/detection_ops.h"

namespace ttt::model {
namespace {

namespace host = kernels::host;

const float* floats(const at::Tensor& t) { return t.const_data_ptr<float>(); }
const std::int32_t* ints(const at::Tensor& t) { return t.const_data_ptr<std::int32_t>(); }
at::Tensor new_floats(at::IntArrayRef shape) { return at::empty(shape, at::kFloat); }
at::Tensor new_ints(at::IntArrayRef shape) { return at::empty(shape, at::kInt); }

// A kernel reads raw memory: what it is given must be what it expects.
void check(const at::Tensor& t, at::ScalarType dtype, const char* name) {
  if (!t.device().is_cpu() || t.scalar_type() != dtype || !t.is_contiguous())
    throw Error(std::string("host_ops: '") + name + "' must be a contiguous CPU tensor of type " + c10::toString(dtype) + ", not " +
                t.toString() + ". This is a mistake in the caller.");
}

// NHWC memory of a channels-last feature map.
at::Tensor nhwc(const at::Tensor& feature) { return feature.permute({0, 2, 3, 1}).contiguous(); }

class RoiAlign : public torch::autograd::Function<RoiAlign> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& p2, const at::Tensor& p3, const at::Tensor& p4,
                            const at::Tensor& p5, const at::Tensor& rois, const at::Tensor& roi_image, const kernels::RoiAlignParams& params,
                            ThreadPool* pool) {
    const std::array<at::Tensor, 4> maps = {nhwc(p2), nhwc(p3), nhwc(p4), nhwc(p5)};
    std::array<const float*, 4> pointers;
    for (int l = 0; l < 4; ++l) pointers[l] = floats(maps[l]);
    at::Tensor out = new_floats({params.rois, params.pooled, params.pooled, params.channels});
    host::roi_align_forward(params, pointers.data(), floats(rois), ints(roi_image), out.data_ptr<float>(), pool);
    context->save_for_backward({rois, roi_image});
    context->saved_data["pool"] = reinterpret_cast<std::int64_t>(pool);
    const auto* bytes = reinterpret_cast<const char*>(&params);
    context->saved_data["params"] = std::string(bytes, sizeof params);
    return out.permute({0, 3, 1, 2});
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context, torch::autograd::variable_list grads) {
    kernels::RoiAlignParams params;
    const std::string bytes = context->saved_data["params"].toStringRef();
    std::memcpy(&params, bytes.data(), sizeof params);
    const auto saved = context->get_saved_variables();
    const at::Tensor grad = nhwc(grads[0]);
    std::array<at::Tensor, 4> maps;
    std::array<float*, 4> pointers;
    for (int l = 0; l < 4; ++l) {
      maps[l] = at::zeros({params.images, params.height[l], params.width[l], params.channels}, at::kFloat);
      pointers[l] = maps[l].data_ptr<float>();
    }
    host::roi_align_backward(params, floats(grad), floats(saved[0]), ints(saved[1]), pointers.data(),
                             reinterpret_cast<ThreadPool*>(context->saved_data["pool"].toInt()));
    torch::autograd::variable_list out(8);
    for (int l = 0; l < 4; ++l) out[l] = maps[l].permute({0, 3, 1, 2});
    return out;
  }
};

class BatchNorm : public torch::autograd::Function<BatchNorm> {
 public:
  static torch::autograd::variable_list forward(torch::autograd::AutogradContext* context, const at::Tensor& x_in, const at::Tensor& weight,
                                                const at::Tensor& bias, const std::optional<at::Tensor>& residual, double eps, bool relu,
                                                ThreadPool* pool, comm::Communicator* sync) {
    const at::Tensor x = nhwc(x_in);
    const std::int64_t channels = x.size(3);
    const at::Tensor r = residual ? nhwc(*residual) : at::Tensor();
    at::Tensor y = at::empty_like(x), mean = new_floats({channels}), variance = new_floats({channels}), rstd = new_floats({channels});
    const host::BatchNormParams p{.rows = x.numel() / channels, .channels = channels, .eps = static_cast<float>(eps), .relu = relu};
    const std::int64_t rows =
        host::batch_norm_forward(p, floats(x), floats(weight), floats(bias), r.defined() ? floats(r) : nullptr, y.data_ptr<float>(),
                                 mean.data_ptr<float>(), variance.data_ptr<float>(), rstd.data_ptr<float>(), pool, sum_over(sync));
    context->save_for_backward({x, y, weight, mean, rstd});
    context->saved_data["relu"] = relu;
    context->saved_data["residual"] = residual.has_value();
    context->saved_data["pool"] = reinterpret_cast<std::int64_t>(pool);
    context->saved_data["sync"] = reinterpret_cast<std::int64_t>(sync);
    const at::Tensor count = at::scalar_tensor(rows, at::kLong);
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
    at::Tensor grad_weight = new_floats({channels}), grad_bias = new_floats({channels});
    const host::BatchNormParams p{.rows = x.numel() / channels, .channels = channels, .relu = context->saved_data["relu"].toBool()};
    host::batch_norm_backward(p, floats(grad), floats(x), floats(y), floats(weight), floats(mean), floats(rstd), grad_x.data_ptr<float>(),
                              has_residual ? grad_residual.data_ptr<float>() : nullptr, grad_weight.data_ptr<float>(), grad_bias.data_ptr<float>(),
                              reinterpret_cast<ThreadPool*>(context->saved_data["pool"].toInt()),
                              sum_over(reinterpret_cast<comm::Communicator*>(context->saved_data["sync"].toInt())));
    return {grad_x.permute({0, 3, 1, 2}), grad_weight, grad_bias, has_residual ? grad_residual.permute({0, 3, 1, 2}) : at::Tensor(), at::Tensor(),
            at::Tensor(), at::Tensor(), at::Tensor()};
  }

 private:
  static host::SumOverRanks sum_over(comm::Communicator* sync) {
    if (!sync) return {};
    return [sync](double* values, std::size_t count) { sync->all_reduce_sum(values, count); };
  }
};

Normalised batch_norm(ThreadPool* pool, const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, const at::Tensor& residual, double eps,
                      bool relu, comm::Communicator* sync) {
  // An undefined tensor is no argument of an autograd function; an empty optional is.
  const auto out = BatchNorm::apply(x, weight, bias, residual.defined() ? std::optional(residual) : std::nullopt, eps, relu, pool, sync);
  return {.y = out[0], .mean = out[1], .variance = out[2], .rows = sync ? out[3].item<std::int64_t>() : x.numel() / x.size(1)};
}

at::Tensor roi_align(ThreadPool* pool, const kernels::RoiAlignParams& p, const std::array<at::Tensor, 4>& f, const at::Tensor& rois, const at::Tensor& roi_image) {
  check(rois, at::kFloat, "rois");
  check(roi_image, at::kInt, "roi_image");
  return RoiAlign::apply(f[0], f[1], f[2], f[3], rois, roi_image, p, pool);
}

at::Tensor match(ThreadPool* pool, const kernels::MatchParams& p, const at::Tensor& gt, const at::Tensor& gt_count, const at::Tensor& candidates,
                 const at::Tensor& visible) {
  check(gt, at::kFloat, "gt");
  check(gt_count, at::kInt, "gt_count");
  check(candidates, at::kFloat, "candidates");
  if (visible.defined()) check(visible, at::kByte, "visible");
  at::Tensor matched = new_ints({p.images, p.candidates});
  host::match(p, floats(gt), ints(gt_count), floats(candidates), visible.defined() ? visible.const_data_ptr<std::uint8_t>() : nullptr,
              matched.data_ptr<std::int32_t>(), pool);
  return matched;
}

Sampled sample(ThreadPool* pool, const kernels::SampleParams& p, const at::Tensor& matched, const at::Tensor& image_id) {
  check(matched, at::kInt, "matched");
  check(image_id, at::kLong, "image_id");
  Sampled s{.index = new_ints({p.images, p.size}), .positives = new_ints({p.images}), .total = new_ints({p.images})};
  host::sample(p, ints(matched), image_id.const_data_ptr<std::int64_t>(), s.index.data_ptr<std::int32_t>(), s.positives.data_ptr<std::int32_t>(),
               s.total.data_ptr<std::int32_t>(), pool);
  return s;
}

at::Tensor encode_boxes(const kernels::BoxCoderParams& p, const at::Tensor& gt, const at::Tensor& reference) {
  check(gt, at::kFloat, "gt");
  check(reference, at::kFloat, "reference");
  at::Tensor deltas = new_floats(gt.sizes());
  host::encode_boxes(p, gt.numel() / 4, floats(gt), floats(reference), deltas.data_ptr<float>());
  return deltas;
}

Proposals proposals(ThreadPool* pool, const kernels::ProposalParams& p, const at::Tensor& logits, const at::Tensor& deltas, const at::Tensor& anchors,
                    const at::Tensor& image_size) {
  check(logits, at::kFloat, "logits");
  check(deltas, at::kFloat, "deltas");
  check(anchors, at::kFloat, "anchors");
  check(image_size, at::kInt, "image_size");
  Proposals out{.boxes = new_floats({p.images, p.post_nms, 4}), .scores = new_floats({p.images, p.post_nms}), .count = new_ints({p.images})};
  host::proposals(p, floats(logits), floats(deltas), floats(anchors), ints(image_size), out.boxes.data_ptr<float>(), out.scores.data_ptr<float>(),
                  out.count.data_ptr<std::int32_t>(), pool);
  return out;
}

Detected detections(ThreadPool* pool, const kernels::DetectionParams& p, const at::Tensor& probabilities, const at::Tensor& deltas, const at::Tensor& rois,
                    const at::Tensor& roi_count, const at::Tensor& image_size) {
  check(probabilities, at::kFloat, "probabilities");
  check(deltas, at::kFloat, "deltas");
  check(rois, at::kFloat, "rois");
  check(roi_count, at::kInt, "roi_count");
  check(image_size, at::kInt, "image_size");
  Detected out{.boxes = new_floats({p.images, p.detections, 4}), .score = new_floats({p.images, p.detections}),
               .label = new_ints({p.images, p.detections}), .count = new_ints({p.images})};
  host::detections(p, floats(probabilities), floats(deltas), floats(rois), ints(roi_count), ints(image_size), out.boxes.data_ptr<float>(),
                   out.score.data_ptr<float>(), out.label.data_ptr<std::int32_t>(), out.count.data_ptr<std::int32_t>(), pool);
  return out;
}

at::Tensor mask_targets_bitmap(ThreadPool* pool, int size, const data::PackedMasks& masks, const at::Tensor& object, const at::Tensor& rois,
                               const at::Tensor& image_size) {
  check(object, at::kInt, "object");
  check(rois, at::kFloat, "rois");
  const std::int64_t r = rois.size(0), capacity = static_cast<std::int64_t>(masks.bitmap_offset.size()) / image_size.size(0);
  std::vector<std::int32_t> height(r), width(r);
  for (std::int64_t i = 0; i < r; ++i) {
    const std::int64_t image = std::max(ints(object)[i], 0) / capacity;
    height[i] = ints(image_size)[2 * image], width[i] = ints(image_size)[2 * image + 1];
  }
  at::Tensor out = new_floats({r, size, size});
  host::mask_targets_bitmap({.rois = r, .size = size}, masks.bitmap_bytes.data(), masks.bitmap_offset.data(), masks.bitmap_box.data(), ints(object),
                            floats(rois), height.data(), width.data(), out.data_ptr<float>(), pool);
  return out;
}

at::Tensor mask_targets_polygon(ThreadPool* pool, int size, const data::PackedMasks& masks, const at::Tensor& object, const at::Tensor& rois) {
  check(object, at::kInt, "object");
  check(rois, at::kFloat, "rois");
  at::Tensor out = new_floats({rois.size(0), size, size});
  host::mask_targets_polygon({.rois = rois.size(0), .size = size},
                             {masks.object_polygon.data(), masks.polygon_vertex.data(), masks.vertices.data()}, ints(object), floats(rois),
                             out.data_ptr<float>(), pool);
  return out;
}

}  // namespace

DetectionOps host_ops(std::shared_ptr<ThreadPool> pool) {
  const auto on_pool = [pool](auto op) { return [pool, op](auto&&... arguments) { return op(pool.get(), arguments...); }; };
  return {.name = "host",
          .batch_norm = on_pool(batch_norm),
          .roi_align = on_pool(roi_align),
          .match = on_pool(match),
          .sample = on_pool(sample),
          .encode_boxes = encode_boxes,
          .proposals = on_pool(proposals),
          .detections = on_pool(detections),
          .mask_targets_bitmap = on_pool(mask_targets_bitmap),
          .mask_targets_polygon = on_pool(mask_targets_polygon)};
}

}  // namespace ttt::model
