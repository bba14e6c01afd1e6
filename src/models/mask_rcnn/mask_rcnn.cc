#include "models/mask_rcnn/mask_rcnn.h"

#include <ATen/core/grad_mode.h>

#include "core/error.h"
#include "models/autocast.h"

namespace ttt::model {
namespace {

comm::Communicator* used(const ModelConfig& config, comm::Communicator* sync) {
  return sync && sync->size() > 1 && (config.loss_mean == "global" || config.backbone.norm == "sync") ? sync : nullptr;
}

ShareCount share_of(const ModelConfig& config, comm::Communicator* sync) {
  if (config.loss_mean == "rank" || !sync) return [](const at::Tensor& count) { return count; };
  // Gradients are averaged over ranks afterwards, so the shared count is the mean over ranks too.
  return [sync](const at::Tensor& count) {
    const at::Tensor sum = count.to(at::kDouble);
    sync->all_reduce_sum(sum.mutable_data_ptr<double>(), 1);
    return (sum / sync->size()).to(count.scalar_type());
  };
}

}  // namespace

MaskRcnn::MaskRcnn(
    const ModelConfig& config, DetectionOps ops, std::uint64_t seed, const at::Device& device, comm::Communicator* sync)
    : config_(config), device_(device), ops_(std::move(ops)), sync_(used(config, sync)), store_(seed),
      share_(share_of(config, sync_)), backbone_(store_, NormContext{config_.backbone, ops_, sync}),
      rpn_(store_, config_, ops_), heads_(store_, config_, ops_) {
  if (config_.classes < 2)
    throw UsageError(
        "model.classes = " + std::to_string(config_.classes) + ": give at least one class and the background.");
  store_.finalise(device);
}

std::string MaskRcnn::not_capturable() const {
  return sync_ && !sync_->on_device() ? "ranks exchange counts or statistics through the host (" + sync_->name() + ")"
                                      : "";
}

Pyramid MaskRcnn::features(const at::Tensor& images) const {
  const Autocast mixed(device_, config_.precision);
  return backbone_(images, true);
}

std::vector<Section> MaskRcnn::sections() const {
  using Tensors = std::vector<at::Tensor>;
  const auto backbone = [this](const Tensors&, const DeviceBatch& batch) {
    const Pyramid levels = features(batch.images);
    return Tensors(levels.begin(), levels.end());
  };
  const auto heads = [this](const Tensors& inputs, const DeviceBatch& batch) {
    Pyramid levels;
    std::copy(inputs.begin(), inputs.end(), levels.begin());
    return training_losses(levels, batch);
  };
  return {{"backbone", backbone}, {"heads", heads}};
}

std::string MaskRcnn::layer_group(const std::string& parameter) const {
  static constexpr std::pair<const char*, const char*> kGroups[] = {{"backbone.body.layer1.", "layer1"},
      {"backbone.body.layer2.", "layer2"}, {"backbone.body.layer3.", "layer3"}, {"backbone.body.layer4.", "layer4"},
      {"backbone.body.", "stem"}, {"backbone.fpn.", "fpn"}, {"rpn.", "rpn"}, {"roi_heads.box_", "box_head"},
      {"roi_heads.mask_", "mask_head"}};
  for (const auto& [prefix, group] : kGroups)
    if (parameter.starts_with(prefix)) return group;
  return "other";
}

result::Json MaskRcnn::describe() const {
  return {{"classes", config_.classes}, {"shapes", config_.shapes}, {"precision", config_.precision},
      {"ops", ops_.name}, {"box_loss", {{"rpn", config_.rpn.box_loss}, {"roi", config_.roi.box_loss}}},
      {"box_loss_weight", {{"rpn", config_.rpn.box_loss_weight}, {"roi", config_.roi.box_loss_weight}}},
      {"box_weights", config_.roi.box_weights},
      {"label_smoothing", {{"rpn", config_.rpn.label_smoothing}, {"roi", config_.roi.label_smoothing}}},
      {"init", {{"backbone", config_.backbone.init}, {"heads", config_.roi.init}}}};
}

std::vector<at::Tensor> MaskRcnn::training_losses(
    const Pyramid& features, const DeviceBatch& batch, TrainingTrace* trace) const {
  const Autocast mixed(device_, config_.precision);
  const RpnOutput rpn = rpn_(features, batch.images.size(2), batch.images.size(3));
  Rpn::TrainingSample anchors;
  RoiSample rois;
  {
    at::NoGradGuard no_grad;
    anchors = rpn_.sample(rpn, batch);
    rois = heads_.sample(rpn_.proposals(rpn, batch.image_size, true), batch);
  }
  const Features shared = ops_.share(features);
  const auto [objectness, rpn_box] = rpn_.losses(shared, rpn, batch, anchors, share_);
  const auto [classifier, box] = heads_.box_losses(shared, batch, rois, share_);
  if (trace) *trace = {.anchors = anchors, .rois = rois};
  return {objectness, rpn_box, classifier, box, heads_.mask_loss(shared, batch, rois, share_)};
}

Prediction MaskRcnn::predict(const DeviceBatch& batch) const {
  at::NoGradGuard no_grad;
  const Autocast mixed(device_, config_.precision);
  const Features features{.map = backbone_(batch.images, false)};
  const RpnOutput rpn = rpn_(features.map, batch.images.size(2), batch.images.size(3));
  Prediction p;
  p.detected = heads_.detect(features, rpn_.proposals(rpn, batch.image_size, false), batch);
  p.masks = heads_.masks(features, batch, p.detected);
  return p;
}

}  // namespace ttt::model
