#include "models/mask_rcnn/roi_heads.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/searchsorted.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/stack.h>

#include "core/rng.h"
#include "models/mask_rcnn/box_losses/box_loss.h"

namespace ttt::model {
namespace {

constexpr int kBoxPool = 7, kMaskPool = 14, kMaskSize = 28;

// Row n of [N, S] is image n.
at::Tensor image_of_rows(const at::Tensor& valid) {
  const at::Tensor n = at::arange(valid.size(0), valid.options().dtype(at::kInt)).unsqueeze(1).expand_as(valid);
  return n.where(valid, n.new_full({}, -1)).contiguous();
}

at::Tensor first_rows(const at::Tensor& count, std::int64_t rows) {  // [N] -> [N, rows] bool
  return at::arange(rows, count.options()).unsqueeze(0) < count.unsqueeze(1);
}

// The least quarter of `most` that is not less than `count`.
std::int64_t quarters_of(std::int64_t most, std::int64_t count) {
  const std::int64_t quarter = std::max<std::int64_t>(1, (most + 3) / 4);
  return std::min(most, std::max<std::int64_t>(1, (count + quarter - 1) / quarter) * quarter);
}

struct FirstRows {
  at::Tensor row;   // [size] int64
  at::Tensor used;  // [size] bool: it is one of them; the others come last
};

// The first count[n] of each image's `rows` rows, image after image. The device needs no answer of the host for it.
FirstRows first_rows_of_images(const at::Tensor& count, std::int64_t rows, std::int64_t size) {
  const at::Tensor end = count.cumsum(0), place = at::arange(size, end.options());
  const at::Tensor image = at::searchsorted(end, place, /*out_int32=*/false, /*right=*/true);  // N: of none
  const at::Tensor own = image.clamp_max(count.size(0) - 1), begin = (end - count).index_select(0, own);
  return {.row = own * rows + (place - begin).clamp_max(rows - 1), .used = image < count.size(0)};
}

}  // namespace

RoiHeads::RoiHeads(ParameterStore& store, const ModelConfig& config, const DetectionOps& ops)
    : config_(config), ops_(ops) {
  const std::int64_t c = config.backbone.fpn_channels, h = config.roi.box_hidden, k = config.classes,
                     m = config.roi.mask_channels;
  const bool detectron = config.roi.init == "detectron";
  // torch.nn.Linear's default: uniform(1 / sqrt(fan in)) for weights and biases; Detectron: kaiming uniform a = 1,
  // biases 0.
  const auto linear = [&](const std::string& name, std::vector<std::int64_t> shape, std::int64_t in, std::int64_t out,
                          const Init& detectron_init, Parameter*& weight, Parameter*& bias) {
    const Init init = detectron ? detectron_init : uniform(kaiming_uniform_bound(in, std::sqrt(5.0)));
    weight = store.add(name + ".weight", shape, init, shape.size() == 4 ? Layout::kChannelsLast : Layout::kPlain);
    weight->file_shape = {out, in};
    bias = store.add(name + ".bias", {out}, detectron ? constant(0) : uniform(1 / std::sqrt(static_cast<double>(in))));
  };
  const std::int64_t pooled = kBoxPool * kBoxPool * c;
  linear("roi_heads.box_head.fc6", {h, c, kBoxPool, kBoxPool}, pooled, h, uniform(kaiming_uniform_bound(pooled, 1)),
      fc6_, fc6_bias_);
  linear("roi_heads.box_head.fc7", {h, h}, h, h, uniform(kaiming_uniform_bound(h, 1)), fc7_, fc7_bias_);
  linear("roi_heads.box_predictor.cls_score", {k, h}, h, k, normal(0.01), cls_, cls_bias_);
  linear("roi_heads.box_predictor.bbox_pred", {4 * k, h}, h, 4 * k, normal(0.001), box_, box_bias_);

  for (std::int64_t i = 0; i < config.roi.mask_layers; ++i)
    mask_convs_.emplace_back(store, "roi_heads.mask_head." + std::to_string(i) + ".0",
        ConvShape{i == 0 ? c : m, m, 3, 1}, normal(kaiming_normal_std(m * 9)), true);
  const std::int64_t in = config.roi.mask_layers > 0 ? m : c;
  // fan out of a transposed convolution as torch counts it: weight.size(0) * 4
  deconv_ = store.add("roi_heads.mask_predictor.conv5_mask.weight", {in, m, 2, 2}, normal(kaiming_normal_std(in * 4)),
      Layout::kChannelsLast);
  // torchvision initialises only the predictor's weights itself: its biases are torch's default, uniform(1 / sqrt(fan
  // in)).
  const auto bias = [&](std::int64_t fan_in) {
    return detectron ? constant(0) : uniform(1 / std::sqrt(static_cast<double>(fan_in)));
  };
  deconv_bias_ = store.add("roi_heads.mask_predictor.conv5_mask.bias", {m}, bias(m * 4));
  mask_logits_ =
      store.add("roi_heads.mask_predictor.mask_fcn_logits.weight", {k, m, 1, 1}, normal(kaiming_normal_std(k)));
  mask_logits_bias_ = store.add("roi_heads.mask_predictor.mask_fcn_logits.bias", {k}, bias(m));
}

kernels::BoxCoderParams RoiHeads::coder() const {
  kernels::BoxCoderParams p;
  const std::vector<double>& w = config_.roi.box_weights;
  p.wx = static_cast<float>(w[0]), p.wy = static_cast<float>(w[1]);
  p.ww = static_cast<float>(w[2]), p.wh = static_cast<float>(w[3]);
  p.legacy = config_.legacy_boxes;
  return p;
}

at::Tensor RoiHeads::pooled(
    const Features& features, const at::Tensor& rois, const at::Tensor& roi_image, int size) const {
  kernels::RoiAlignParams p;
  p.levels = 4, p.pooled = size, p.sampling_ratio = 2, p.aligned = false, p.legacy_area = config_.legacy_boxes;
  p.images = features[0].size(0), p.channels = features[0].size(1), p.rois = rois.size(0);
  for (int l = 0; l < 4; ++l)
    p.height[l] = features[l].size(2), p.width[l] = features[l].size(3), p.scale[l] = 1.0f / static_cast<float>(4 << l);
  return ops_.roi_align(p, features, rois, roi_image);
}

RoiSample RoiHeads::sample(const Proposals& proposals, const DeviceBatch& batch) const {
  const std::int64_t n = batch.gt_box.size(0), capacity = batch.gt_box.size(1), size = config_.roi.sample;
  // Ground truth joins the proposals; rows that hold nothing cannot be chosen.
  const at::Tensor candidates = at::cat({proposals.boxes, batch.gt_box}, 1);
  const at::Tensor present =
      at::cat({first_rows(proposals.count, proposals.boxes.size(1)), first_rows(batch.gt_count, capacity)}, 1);
  kernels::MatchParams match;
  match.images = n, match.candidates = candidates.size(1), match.gt_capacity = capacity;
  match.high = match.low = static_cast<float>(config_.roi.match_iou);
  match.legacy = config_.legacy_boxes;
  const at::Tensor matched =
      ops_.match(match, batch.gt_box, batch.gt_count, candidates, present.to(at::kByte).contiguous());
  kernels::SampleParams params;
  params.images = n, params.candidates = candidates.size(1), params.size = size;
  params.positive_fraction = static_cast<float>(config_.roi.sample_positive);
  params.purpose = static_cast<std::uint64_t>(Purpose::kRoiSample);
  const Sampled s = ops_.sample(params, batch.draw, matched, batch.image_id);
  const at::Tensor index = s.index.to(at::kLong);
  return {.rois = candidates.gather(1, index.unsqueeze(-1).expand({-1, -1, 4})),
      .object = matched.to(at::kLong).gather(1, index).clamp_min(0),
      .positives = s.positives,
      .total = s.total};
}

RoiHeads::BoxOutput RoiHeads::box_head(
    const Features& features, const at::Tensor& rois, const at::Tensor& roi_image) const {
  const std::int64_t r = rois.size(0), h = config_.roi.box_hidden;
  // Pooled features and fc6 lie as [.., 7, 7, C] in memory: both views are free.
  const at::Tensor x = pooled(features, rois, roi_image, kBoxPool).permute({0, 2, 3, 1}).reshape({r, -1});
  at::Tensor y = at::linear(x, fc6_->value.permute({0, 2, 3, 1}).reshape({h, -1}), fc6_bias_->value).relu_();
  y = at::linear(y, fc7_->value, fc7_bias_->value).relu_();
  return {.logits = at::linear(y, cls_->value, cls_bias_->value).to(at::kFloat),
      .deltas = at::linear(y, box_->value, box_bias_->value).to(at::kFloat).view({r, config_.classes, 4})};
}

std::array<at::Tensor, 2> RoiHeads::box_losses(
    const Features& features, const DeviceBatch& batch, const RoiSample& s, const ShareCount& share) const {
  const std::int64_t size = s.rois.size(1);
  const at::Tensor counted = first_rows(s.total, size), positive = first_rows(s.positives, size);
  const at::Tensor rois = s.rois.reshape({-1, 4});
  const BoxOutput out = box_head(features, rois, image_of_rows(counted).flatten());
  const at::Tensor count = share(s.total.sum().to(at::kFloat)).clamp_min(1);

  const at::Tensor label = (batch.gt_label.to(at::kLong).gather(1, s.object) * positive).flatten();  // background 0
  const at::Tensor ignored = label.new_full({}, -100);
  const at::Tensor classifier =
      cross_entropy_sum(out.logits, label.where(counted.flatten(), ignored), config_.roi.label_smoothing) / count;

  const at::Tensor gt = batch.gt_box.gather(1, s.object.unsqueeze(-1).expand({-1, -1, 4})).reshape({-1, 4});
  const at::Tensor on = positive.reshape({-1, 1});
  // Fillers regress from a unit box onto itself: finite, and 0 by weight.
  const at::Tensor unit = at::cat({rois.new_zeros({1, 2}), rois.new_ones({1, 2})}, 1);
  const at::Tensor target = gt.where(on, unit).contiguous(), reference = rois.where(on, unit).contiguous();
  const BoxRows rows{.deltas = out.deltas.gather(1, label.view({-1, 1, 1}).expand({-1, 1, 4})).squeeze(1),
      .target_deltas = ops_.encode_boxes(coder(), target, reference),
      .reference = reference,
      .target = target,
      .weight = positive.flatten().to(at::kFloat),
      .beta = config_.roi.smooth_l1_beta,
      .coder = coder()};
  return {classifier, box_loss_sum(config_.roi.box_loss, config_.roi.box_loss_weight, rows) / count};
}

std::int64_t RoiHeads::mask_branch_rows(std::int64_t images, std::int64_t positives) const {
  return quarters_of(images * mask_rows_of_image(), positives);
}

RoiHeads::MaskRows RoiHeads::mask_rows(const DeviceBatch& batch, const RoiSample& s, std::int64_t in_quarters) const {
  const std::int64_t n = s.rois.size(0), capacity = batch.gt_box.size(1), rows = mask_rows_of_image();
  const at::Tensor on = first_rows(s.positives, rows);
  const at::Tensor object = s.object.narrow(1, 0, rows);
  const at::Tensor base = at::arange(n, s.positives.options()).unsqueeze(1) * capacity;
  const at::Tensor global = (object.to(at::kInt) + base).to(at::kInt);
  MaskRows all{.rois = s.rois.narrow(1, 0, rows).reshape({-1, 4}),
      .image = image_of_rows(on).flatten(),
      .label = batch.gt_label.to(at::kLong).gather(1, object).flatten(),
      .object = global.where(on, global.new_full({}, -1)).flatten(),
      .weight = on.to(at::kFloat).flatten()};
  if (config_.shapes == "static") return all;
  const auto chosen = [&](const at::Tensor& row) {
    return MaskRows{.rois = all.rois.index_select(0, row),
        .image = all.image.index_select(0, row),
        .label = all.label.index_select(0, row),
        .object = all.object.index_select(0, row),
        .weight = all.weight.index_select(0, row)};
  };
  if (config_.shapes == "dynamic") return chosen(on.flatten().nonzero().flatten());
  const FirstRows first = first_rows_of_images(s.positives, rows, in_quarters);
  MaskRows compact = chosen(first.row);
  compact.image = compact.image.where(first.used, compact.image.new_full({}, -1));
  compact.object = compact.object.where(first.used, compact.object.new_full({}, -1));
  compact.weight = compact.weight * first.used;
  return compact;
}

at::Tensor RoiHeads::mask_head(
    const Features& features, const at::Tensor& rois, const at::Tensor& roi_image, const at::Tensor& label) const {
  at::Tensor x = pooled(features, rois, roi_image, kMaskPool);
  for (const Conv& conv : mask_convs_) x = conv.biased(ops_, x, true);
  const std::int64_t in = x.size(1), c = config_.roi.mask_channels;
  // A transposed 2x2 convolution of stride 2 is one matrix product: each input pixel gives its own 2x2 block.
  // Rows are [m, 14, 14] pixels, columns [2, 2, c].
  const at::Tensor block =
      at::mm(x.permute({0, 2, 3, 1}).reshape({-1, in}), deconv_->value.permute({0, 2, 3, 1}).reshape({in, 4 * c}));
  // Only the row's own class enters the loss or the result, so only its map is computed.
  return ops_.mask_logits({.bias = deconv_bias_->value,
                              .weight = mask_logits_->value.view({config_.classes, c}),
                              .weight_bias = mask_logits_bias_->value},
      block.view({x.size(0), kMaskPool, kMaskPool, 2, 2, c}), label.to(at::kInt));
}

at::Tensor RoiHeads::mask_loss(const Features& features, const DeviceBatch& batch, const RoiSample& s,
    std::int64_t in_quarters, const ShareCount& share) const {
  const at::Tensor count = share(s.positives.sum().to(at::kFloat)).clamp_min(1) * (kMaskSize * kMaskSize);
  const MaskRows rows = mask_rows(batch, s, in_quarters);
  if (rows.rois.size(0) == 0) {
    // No positive on this rank: the parameters still take part, with zero gradients, so that every rank reduces the
    // same buckets.
    at::Tensor zero = (deconv_->value.sum() + deconv_bias_->value.sum() + mask_logits_->value.sum() +
                          mask_logits_bias_->value.sum()) *
                      0;
    for (const Conv& conv : mask_convs_) zero = zero + (conv.weight().sum() + conv.bias().sum()) * 0;
    return zero;
  }
  const at::Tensor logits = mask_head(features, rows.rois, rows.image, rows.label);
  const at::Tensor target = config_.roi.mask_target == "polygon"
                                ? ops_.mask_targets_polygon(kMaskSize, batch.masks, rows.object, rows.rois)
                                : ops_.mask_targets_bitmap(kMaskSize, batch.masks, rows.object, rows.rois,
                                      batch.image_size, std::max(batch.images.size(2), batch.images.size(3)));
  return bce_sum(logits, target, rows.weight.view({-1, 1, 1})) / count;
}

Detected RoiHeads::detect(const Features& features, const Proposals& proposals, const DeviceBatch& batch) const {
  const std::int64_t n = proposals.boxes.size(0), rows = proposals.boxes.size(1), k = config_.classes;
  const BoxOutput out =
      box_head(features, proposals.boxes.reshape({-1, 4}), image_of_rows(first_rows(proposals.count, rows)).flatten());
  kernels::DetectionParams p;
  p.images = n, p.rois = rows, p.classes = k;
  p.score_threshold = static_cast<float>(config_.roi.score_threshold),
  p.nms_threshold = static_cast<float>(config_.roi.nms_threshold);
  p.min_size = config_.legacy_boxes ? 0.0f : 1e-2f;
  p.detections = config_.roi.detections;
  p.coder = coder();
  return ops_.detections(p, at::softmax(out.logits, -1).view({n, rows, k}),
      out.deltas.view({n, rows, k, 4}).contiguous(), proposals.boxes, proposals.count, batch.image_size);
}

at::Tensor RoiHeads::masks(const Features& features, const DeviceBatch&, const Detected& d) const {
  const at::Tensor on = first_rows(d.count, d.boxes.size(1));
  const at::Tensor keep = on.flatten().nonzero().flatten();
  if (keep.size(0) == 0) return d.boxes.new_zeros({0, kMaskSize, kMaskSize});
  const at::Tensor boxes = d.boxes.reshape({-1, 4}), image = image_of_rows(on).flatten(),
                   label = d.label.flatten().to(at::kLong);
  const auto logits = [&](const at::Tensor& row, const at::Tensor& of_image) {
    return mask_head(features, boxes.index_select(0, row), of_image, label.index_select(0, row));
  };
  if (config_.shapes == "static") return at::sigmoid(mask_head(features, boxes, image, label).index_select(0, keep));
  const at::Tensor kept = image.index_select(0, keep);
  if (config_.shapes == "dynamic") return at::sigmoid(logits(keep, kept));
  const std::int64_t fillers = quarters_of(on.numel(), keep.size(0)) - keep.size(0);
  const at::Tensor filled =
      logits(at::cat({keep, keep.new_zeros({fillers})}), at::cat({kept, kept.new_full({fillers}, -1)}));
  return at::sigmoid(filled.narrow(0, 0, keep.size(0)));
}

}  // namespace ttt::model
