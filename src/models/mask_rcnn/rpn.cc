#include "models/mask_rcnn/rpn.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/stack.h>

#include "core/rng.h"
#include "models/mask_rcnn/box_losses/box_loss.h"

namespace ttt::model {

Rpn::Rpn(ParameterStore& store, const ModelConfig& config, const DetectionOps& ops) : config_(config), ops_(ops) {
  const std::int64_t c = config.backbone.fpn_channels, a = static_cast<std::int64_t>(config.rpn.anchor_ratios.size());
  conv_ = Conv(store, "rpn.head.conv.0.0", {c, c, 3, 1}, normal(0.01), true);
  logits_ = Conv(store, "rpn.head.cls_logits", {c, a, 1, 1}, normal(0.01), true);
  deltas_ = Conv(store, "rpn.head.bbox_pred", {c, 4 * a, 1, 1}, normal(0.01), true);
}

AnchorHead Rpn::head() const {
  const std::int64_t used = 5 * kinds(), c = conv_.weight().size(0), filled = (used + 7) / 8 * 8 - used;
  const at::Tensor none = conv_.weight().new_zeros({filled, c});
  const auto matrix = [&](const at::Tensor& weight) { return weight.reshape({-1, c}); };
  return {.kernel = conv_.weight(),
      .kernel_bias = conv_.bias(),
      .weight = at::cat({matrix(logits_.weight()), matrix(deltas_.weight()), none}),
      .bias = at::cat({logits_.bias(), deltas_.bias(), conv_.bias().new_zeros({filled})}),
      .kinds = kinds()};
}

RpnOutput Rpn::operator()(const Pyramid& features, std::int64_t image_height, std::int64_t image_width) const {
  const AnchorHead own = head();
  const at::Tensor all = ops_.all_outputs(own, features);  // [N, pixels, outputs]
  const std::int64_t n = all.size(0), a = kinds();
  return {.head = own,
      .all = all,
      .logits = all.narrow(2, 0, a).reshape({n, -1}),
      .deltas = all.narrow(2, a, 4 * a).reshape({n, -1, 4}),
      .anchors = anchors(features, image_height, image_width)};
}

Rpn::Chosen Rpn::chosen(const Features& features, const RpnOutput& out, const Sampled& s) const {
  const std::int64_t n = s.index.size(0), size = s.index.size(1), a = kinds();
  const at::Tensor y = ops_.chosen_outputs(out.head, features, out.all, s.index, s.total);
  const at::Tensor kind = s.index.remainder(a).to(at::kLong).unsqueeze(-1);  // [N, S, 1]
  const at::Tensor deltas = y.narrow(2, a, 4 * a).reshape({n, size, a, 4});
  return {.logits = y.narrow(2, 0, a).gather(2, kind).squeeze(2),
      .deltas = deltas.gather(2, kind.unsqueeze(-1).expand({-1, -1, 1, 4})).squeeze(2)};
}

std::shared_ptr<const AnchorGrid> Rpn::anchors(
    const Pyramid& features, std::int64_t image_height, std::int64_t image_width) const {
  auto& slot = grids_[{image_height, image_width}];
  if (!slot) {
    std::array<GridSize, kLevels> grids;
    for (int l = 0; l < kLevels; ++l) grids[l] = {features[l].size(2), features[l].size(3)};
    const Anchors host = make_anchors(config_.rpn, config_.legacy_boxes, image_height, image_width, grids);
    auto made = std::make_shared<AnchorGrid>();
    const std::int64_t count = host.level_start[kLevels];
    made->boxes =
        at::from_blob(const_cast<float*>(host.boxes.data()), {count, 4}, at::kFloat).clone().to(features[0].device());
    made->level_start = host.level_start;
    slot = made;
  }
  return slot;
}

at::Tensor Rpn::visible(const AnchorGrid& anchors, const at::Tensor& image_size) const {
  if (!config_.rpn.drop_straddling) return {};
  const at::Tensor h = image_size.select(1, 0).unsqueeze(1), w = image_size.select(1, 1).unsqueeze(1);  // [N, 1]
  const auto side = [&](int i) { return anchors.boxes.select(1, i).unsqueeze(0); };
  return ((side(0) >= 0) & (side(1) >= 0) & (side(2) < w) & (side(3) < h)).to(at::kByte).contiguous();
}

Rpn::TrainingSample Rpn::sample(const RpnOutput& out, const DeviceBatch& batch) const {
  const std::int64_t n = out.logits.size(0), a = out.logits.size(1);
  kernels::MatchParams match;
  match.images = n, match.candidates = a, match.gt_capacity = batch.gt_box.size(1), match.shared_candidates = true;
  match.high = static_cast<float>(config_.rpn.match_high), match.low = static_cast<float>(config_.rpn.match_low);
  match.allow_low_quality = true, match.legacy = config_.legacy_boxes;
  TrainingSample s;
  s.matched =
      ops_.match(match, batch.gt_box, batch.gt_count, out.anchors->boxes, visible(*out.anchors, batch.image_size));
  kernels::SampleParams params;
  params.images = n, params.candidates = a, params.size = config_.rpn.sample;
  params.positive_fraction = static_cast<float>(config_.rpn.sample_positive);
  params.purpose = static_cast<std::uint64_t>(Purpose::kRpnSample);
  s.sampled = ops_.sample(params, batch.draw, s.matched, batch.image_id);
  return s;
}

std::array<at::Tensor, 2> Rpn::losses(const Features& features, const RpnOutput& out, const DeviceBatch& batch,
    const TrainingSample& s, const ShareCount& share) const {
  const std::int64_t size = config_.rpn.sample;
  const at::Tensor row = at::arange(size, s.sampled.total.options()).unsqueeze(0);      // [1, S]
  const at::Tensor positive = (row < s.sampled.positives.unsqueeze(1)).to(at::kFloat);  // [N, S]
  const at::Tensor counted = (row < s.sampled.total.unsqueeze(1)).to(at::kFloat);
  const at::Tensor count = share(s.sampled.total.sum().to(at::kFloat)).clamp_min(1);
  const Chosen own = chosen(features, out, s.sampled);
  const at::Tensor objectness = bce_sum(own.logits, positive, counted, config_.rpn.label_smoothing) / count;

  // Only the first positives can have a box loss: a fixed number of rows.
  const std::int64_t cap = static_cast<std::int64_t>(static_cast<double>(size) * config_.rpn.sample_positive);
  const at::Tensor first = s.sampled.index.narrow(1, 0, cap).to(at::kLong), on = positive.narrow(1, 0, cap);
  const at::Tensor anchor = out.anchors->boxes.index_select(0, first.flatten());    // [N * cap, 4]
  const at::Tensor object = s.matched.to(at::kLong).gather(1, first).clamp_min(0);  // [N, cap]
  const at::Tensor gt = batch.gt_box.gather(1, object.unsqueeze(-1).expand({-1, -1, 4})).reshape({-1, 4});
  // Fillers regress from an anchor onto itself: finite, and 0 by weight.
  const at::Tensor target = gt.where(on.reshape({-1, 1}) > 0, anchor).contiguous();
  const BoxRows rows{.deltas = own.deltas.narrow(1, 0, cap).reshape({-1, 4}),
      .target_deltas = ops_.encode_boxes(coder(), target, anchor),
      .reference = anchor,
      .target = target,
      .weight = on.flatten(),
      .beta = config_.rpn.smooth_l1_beta,
      .coder = coder()};
  return {objectness, box_loss_sum(config_.rpn.box_loss, config_.rpn.box_loss_weight, rows) / count};
}

kernels::BoxCoderParams Rpn::coder() const {
  kernels::BoxCoderParams coder;
  coder.legacy = config_.legacy_boxes;
  return coder;
}

Proposals Rpn::proposals(const RpnOutput& out, const at::Tensor& image_size, bool training) const {
  const RpnConfig& rpn = config_.rpn;
  kernels::ProposalParams p;
  p.images = out.logits.size(0), p.anchors = out.logits.size(1), p.levels = kLevels;
  std::copy(out.anchors->level_start.begin(), out.anchors->level_start.end(), p.level_start);
  p.pre_nms = training ? rpn.pre_nms_train : rpn.pre_nms_test;
  p.post_nms = training ? rpn.post_nms_train : rpn.post_nms_test;
  p.post_nms_per_level = rpn.cut_per_level ? p.post_nms : 0;
  p.cut_over_batch = training && rpn.cut_over_batch;
  p.post_nms_batch = p.post_nms;
  p.nms_threshold = static_cast<float>(rpn.nms_threshold);
  p.min_size = static_cast<float>(rpn.min_size);
  p.coder = coder();
  return ops_.proposals(
      p, out.logits.detach().contiguous(), out.deltas.detach().contiguous(), out.anchors->boxes, image_size);
}

}  // namespace ttt::model
